#pragma once
/// Lanes are virtual nodes: the local lattice is split into `lanes` equal sub-lattices, and one block holds
/// the same sub-lattice coordinate of all of them, lane by lane.
#include "trellis/lattice/geometry.hpp"

namespace trellis {

struct LaneSplit {
  Coord lanes_per_direction{1, 1, 1, 1};  ///< they are powers of two
  int lanes() const { return int(product(lanes_per_direction)); }
};

/// Returns the best split of the local lattice into `lanes` parts, or into fewer where it does not divide.
/// Sub-lattice extents stay even (a block then has one parity). Directions that ranks do not split are taken
/// first, then long ones of space before t, then the longest. Allowed lane counts are 1, 4, 8 and 16.
LaneSplit choose_lane_split(const Geometry& geometry, int lanes);

}  // namespace trellis
