#include "trellis/lattice/rank_map.hpp"

#include <algorithm>
#include <map>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr RankOrder all_orders[] = {RankOrder::box, RankOrder::x_fastest, RankOrder::time_fastest};

ProcessGrid time_fastest(const Coord& grid) {
  const Coord reversed{grid[3], grid[2], grid[1], grid[0]};
  std::vector<int> rank_at(size_t(product(grid)));
  for (int rank = 0; rank < int(rank_at.size()); ++rank) {
    const Coord place = site_coord(rank, reversed);
    rank_at[size_t(site_index({place[3], place[2], place[1], place[0]}, grid))] = rank;
  }
  return ProcessGrid(grid, std::move(rank_at));
}
}  // namespace

const char* name_of(RankOrder order) {
  switch (order) {
    case RankOrder::x_fastest:
      return "x_fastest";
    case RankOrder::time_fastest:
      return "time_fastest";
    default:
      return "box";
  }
}

RankOrder rank_order_by_name(const std::string& name) {
  for (const RankOrder order : all_orders)
    if (name == name_of(order)) return order;
  throw BadArgument(message("rank order \"", name, "\" is not among box, x_fastest, time_fastest"));
}

ProcessGrid place_ranks(const Coord& lattice, const Coord& grid, const std::vector<int>& nodes,
                        const RankMap& map) {
  if (!map.rank_at.empty() && int64_t(map.rank_at.size()) == product(grid))
    return ProcessGrid(grid, map.rank_at);
  switch (map.order) {
    case RankOrder::x_fastest:
      return ProcessGrid(grid);
    case RankOrder::time_fastest:
      return time_fastest(grid);
    default:
      return group_by_node(lattice, grid, nodes);
  }
}

int64_t surface_between_nodes(const Coord& lattice, const ProcessGrid& grid, const std::vector<int>& nodes) {
  TRELLIS_REQUIRE(nodes.size() == size_t(grid.size()), "a grid of ", grid.size(),
                  " processes needs the node of each, found ", nodes.size());
  Coord local;
  for (int mu = 0; mu < Nd; ++mu) local[mu] = lattice[mu] / grid.extents()[mu];
  std::map<int, int64_t> sites;
  int64_t most = 0;
  for (int rank = 0; rank < grid.size(); ++rank)
    for (int mu = 0; mu < Nd; ++mu)
      for (const int step : {1, -1}) {
        Coord place = grid.coord_of(rank);
        place[mu] += step;
        if (nodes[size_t(grid.rank_of(place))] == nodes[size_t(rank)]) continue;
        most = std::max(most, sites[nodes[size_t(rank)]] += product(local) / local[mu]);
      }
  return most;
}

}  // namespace trellis
