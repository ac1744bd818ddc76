#pragma once
/// The boundary says where the lattice ends: which links and sites lie beyond the first and the last site of
/// a direction. The lattice owns this; the phases that a quark takes up on its way around the torus belong to
/// its operator.
#include "trellis/lattice/coord.hpp"

namespace trellis {

enum class Edge {
  periodic,  ///< the last site is linked with the first one
  open,      ///< no link leads beyond the first and the last site
  wall       ///< links lead to walls beyond both, where every field is zero (Dirichlet)
};

/// A boundary has the edges of each direction. A direction with an extent of 1 has no links, whatever its
/// edge is.
using Boundary = std::array<Edge, Nd>;

inline constexpr Boundary periodic_boundary{Edge::periodic, Edge::periodic, Edge::periodic, Edge::periodic};

/// A coordinate, which may lie beyond the lattice, stands for one of these.
enum class SiteKind { site, wall, none };

/// Wraps a coordinate of periodic directions into the lattice.
/// @param x is changed to the coordinates of the site, where there is one
inline SiteKind resolve(Coord& x, const Coord& extents, const Boundary& boundary) {
  SiteKind kind = SiteKind::site;
  for (int mu = 0; mu < Nd; ++mu) {
    if (x[mu] >= 0 && x[mu] < extents[mu]) continue;
    if (extents[mu] == 1 || boundary[mu] == Edge::open) return SiteKind::none;
    if (boundary[mu] == Edge::wall) kind = SiteKind::wall;
    x[mu] = (x[mu] % extents[mu] + extents[mu]) % extents[mu];
  }
  return kind;
}

}  // namespace trellis
