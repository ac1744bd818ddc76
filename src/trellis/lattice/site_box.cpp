#include "trellis/lattice/site_box.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
Coord local_extents(const Coord& lattice, const ProcessGrid& grid) {
  Coord local;
  for (int mu = 0; mu < Nd; ++mu) {
    TRELLIS_REQUIRE(lattice[mu] >= 1 && lattice[mu] % grid.extents()[mu] == 0, "lattice ", to_string(lattice),
                    " cannot be cut by the process grid ", to_string(grid.extents()), ": its extent ",
                    lattice[mu], " in direction ", "xyzt"[mu], " is no multiple of ", grid.extents()[mu]);
    local[mu] = lattice[mu] / grid.extents()[mu];
  }
  return local;
}

SiteBox box_at(const Coord& place, const Coord& local) {
  SiteBox box{{}, local};
  for (int mu = 0; mu < Nd; ++mu) box.origin[mu] = place[mu] * local[mu];
  return box;
}

SiteBox intersection(const SiteBox& a, const SiteBox& b) {
  SiteBox box;
  for (int mu = 0; mu < Nd; ++mu) {
    box.origin[mu] = std::max(a.origin[mu], b.origin[mu]);
    box.extents[mu] = std::min(a.origin[mu] + a.extents[mu], b.origin[mu] + b.extents[mu]) - box.origin[mu];
  }
  return box;
}
}  // namespace

SiteBox box_of_rank(const Coord& lattice, const ProcessGrid& grid, int rank) {
  const Coord local = local_extents(lattice, grid);
  return box_at(grid.coord_of(rank), local);
}

std::vector<CommonBox> common_boxes(const SiteBox& box, const Coord& lattice, const ProcessGrid& grid) {
  const Coord local = local_extents(lattice, grid);
  SiteBox places;  // these are the places on the grid of the ranks that meet the box
  for (int mu = 0; mu < Nd; ++mu) {
    TRELLIS_REQUIRE(
        box.origin[mu] >= 0 && box.extents[mu] >= 1 && box.origin[mu] + box.extents[mu] <= lattice[mu],
        "a box of ", to_string(box.extents), " sites from ", to_string(box.origin), " is not inside ",
        to_string(lattice));
    places.origin[mu] = box.origin[mu] / local[mu];
    places.extents[mu] = (box.origin[mu] + box.extents[mu] - 1) / local[mu] - places.origin[mu] + 1;
  }
  std::vector<CommonBox> common;
  for_each_row(places, [&](Coord place) {
    for (int i = 0; i < places.extents[0]; ++i, ++place[0])
      common.push_back({grid.rank_of(place), intersection(box, box_at(place, local))});
  });
  return common;
}

}  // namespace trellis
