#pragma once
/// Boxes of sites have global coordinates: they are what ranks have of a lattice, and what two ways to cut it
/// have in common.
#include <vector>

#include "trellis/lattice/geometry.hpp"

namespace trellis {

struct SiteBox {
  Coord origin{}, extents{};
  int64_t sites() const { return product(extents); }
  bool operator==(const SiteBox&) const = default;
};

/// Returns the sites of a rank of a grid. Extents may be odd, 1 included. Throws BadArgument where the grid
/// does not divide the lattice, or has no such rank.
SiteBox box_of_rank(const Coord& lattice, const ProcessGrid& grid, int rank);

/// This is what a box has in common with that of one rank of a grid.
struct CommonBox {
  int rank;
  SiteBox box;
};
/// Returns the parts of a box that ranks of a grid have, in the order of their coordinates on the grid; each
/// site is in one of them. Throws BadArgument where the grid does not divide the lattice. @pre the box is
/// inside the lattice
std::vector<CommonBox> common_boxes(const SiteBox& box, const Coord& lattice, const ProcessGrid& grid);

/// Calls f(site) for the first site of each row in x of a box, in lexicographic order.
template <class F>
void for_each_row(const SiteBox& box, const F& f) {
  Coord x = box.origin;
  for (int t = 0; t < box.extents[3]; ++t)
    for (int z = 0; z < box.extents[2]; ++z)
      for (int y = 0; y < box.extents[1]; ++y) {
        x[1] = box.origin[1] + y;
        x[2] = box.origin[2] + z;
        x[3] = box.origin[3] + t;
        f(x);
      }
}

}  // namespace trellis
