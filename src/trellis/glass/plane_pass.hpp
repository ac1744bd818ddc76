#pragma once
/// The order in which half sweeps go through the planes of a lattice together. A half sweep at a plane needs
/// the half sweep before it at this plane and at both of its neighbours, and nothing else; every order that
/// respects this gives the same spins.
#include <algorithm>

namespace trellis {

/// Planes that so many half sweeps need at least.
constexpr int planes_of_pass(int half_sweeps) { return 2 * half_sweeps; }

/// f(half sweep, plane) for half sweeps 0 .. half_sweeps - 1 at planes 0 .. planes - 1 of a ring. Each half
/// sweep follows the one before it at a distance of one plane, so that what is read stays near; planes
/// beside the seam between the last plane and the first come last. @pre planes >= planes_of_pass(half_sweeps)
template <class F>
void for_each_plane_of_pass(int planes, int half_sweeps, const F& f) {
  for (int front = 0; front < planes; ++front)
    for (int h = 0; h < half_sweeps; ++h) {
      const int plane = front - h;
      if (plane >= h && plane <= planes - 1 - h) f(h, plane);
    }
  for (int h = 1; h < half_sweeps; ++h) {
    for (int plane = planes - h; plane < planes; ++plane) f(h, plane);
    for (int plane = 0; plane < h; ++plane) f(h, plane);
  }
}

}  // namespace trellis
