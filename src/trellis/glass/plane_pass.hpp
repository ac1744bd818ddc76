#pragma once
/// Half sweeps go through the planes of a lattice together in this order. A half sweep at a site needs the
/// half sweep before it at this site and at its neighbours, and nothing else; every order that respects this
/// gives the same spins.
#include <algorithm>

namespace trellis {

/// Counts the planes, and rows of a plane, that so many half sweeps need at least.
constexpr int planes_of_pass(int half_sweeps) { return 2 * half_sweeps; }

/// Calls f(half sweep, plane) for half sweeps 0 .. half_sweeps - 1 at planes 0 .. planes - 1 of a ring. Each
/// half sweep follows the one before it at a distance of one plane, so that what is read stays near; planes
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

/// Calls f(half sweep, plane, first row, end of rows) with planes as above, for strips of `width` rows one
/// after the other, so that the planes under way fit a cache. A strip moves by one row with each half sweep;
/// rows beside the seam of rows come last. @pre planes and rows >= planes_of_pass(half_sweeps), width >= 1
template <class F>
void for_each_strip_of_pass(int planes, int rows, int width, int half_sweeps, const F& f) {
  for (int begin = 0; begin < rows; begin += width)
    for_each_plane_of_pass(planes, half_sweeps, [&](int h, int plane) {
      const int first = std::max(h, begin - h), end = std::min(rows - h, begin + width - h);
      if (first < end) f(h, plane, first, end);
    });
  for_each_plane_of_pass(planes, half_sweeps, [&](int h, int plane) {
    if (h == 0) return;
    f(h, plane, rows - h, rows);
    f(h, plane, 0, h);
  });
}

}  // namespace trellis
