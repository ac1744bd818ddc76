#include "trellis/lattice/split_extent.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Returns "grids of 8 ranks that have: 1x1x2x4, 1x1x4x2", or the rank counts for which there is one.
std::string legal_choices(const Coord& lattice, int ranks, int least) {
  std::string grids;
  for (const Coord& grid : legal_process_grids(lattice, ranks, least))
    grids += (grids.empty() ? "" : ", ") + to_string(grid);
  if (!grids.empty()) return message("grids of ", ranks, " ranks that allow it: ", grids);
  std::string counts;
  for (int n = 1; n <= 2 * ranks; ++n)
    if (!legal_process_grids(lattice, n, least).empty())
      counts += (counts.empty() ? "" : ", ") + std::to_string(n);
  return message("no grid of ", ranks, " ranks allows it; rank counts that do: ", counts);
}
}  // namespace

void require_split_extents(const Geometry& geometry, int least, const std::string& user) {
  for (int mu = 0; mu < Nd; ++mu) {
    if (!geometry.is_split(mu) || geometry.local()[mu] >= least) continue;
    throw BadArgument(message(user, " needs local extents of at least ", least,
                              " where ranks split the lattice; ", to_string(geometry.lattice()),
                              " on a grid ", to_string(geometry.grid().extents()), " leaves ",
                              geometry.local()[mu], " in direction ", "xyzt"[mu], "; ",
                              legal_choices(geometry.lattice(), geometry.grid().size(), least)));
  }
}

void require_even_parts(const Geometry& geometry, const std::string& user) {
  for (int mu = 0; mu < Nd; ++mu)
    if (geometry.local()[mu] % 2 != 0 && geometry.lattice()[mu] > 1)
      throw BadArgument(message(user, " needs even local extents; ", to_string(geometry.lattice()),
                                " on a grid ", to_string(geometry.grid().extents()), " leaves ",
                                geometry.local()[mu], " in direction ", "xyzt"[mu], "; ",
                                legal_grids_in_words(geometry.lattice(), geometry.grid().size())));
}

void require_all_directions(const Geometry& geometry, const std::string& user) {
  for (int mu = 0; mu < Nd; ++mu)
    if (geometry.lattice()[mu] == 1)
      throw BadArgument(message(user, " needs extents of at least 2 in all four directions; the lattice ",
                                to_string(geometry.lattice()), " has an extent of 1 in direction ",
                                "xyzt"[mu]));
}

void require_periodic(const Geometry& geometry, const std::string& user) {
  for (int mu = 0; mu < Nd; ++mu)
    if (geometry.boundary()[mu] != Edge::periodic)
      throw BadArgument(message(user, " needs a periodic lattice; direction ", "xyzt"[mu], " of ",
                                to_string(geometry.lattice()), " ends in ",
                                geometry.boundary()[mu] == Edge::open ? "open edges" : "walls"));
}

}  // namespace trellis
