#pragma once
/// Which rank has which place on the process grid, and what that costs between nodes. Integers only;
/// python/trellis/ground/rank_map.py has the same rules for programs that load no compiled part.
#include <cstdint>
#include <string>
#include <vector>

#include "trellis/lattice/geometry.hpp"

namespace trellis {

enum class RankOrder {
  box,          ///< ranks of a node side by side (group_by_node)
  x_fastest,    ///< in the order of ranks, x first
  time_fastest  ///< in the order of ranks, t first, then z and y
};

const char* name_of(RankOrder order);
/// Throws BadArgument with the legal names.
RankOrder rank_order_by_name(const std::string& name);

struct RankMap {
  RankOrder order = RankOrder::box;
  /// Where it is not empty it comes before the order, for grids with as many places: the rank of each place,
  /// x fastest.
  std::vector<int> rank_at = {};
};

/// The grid with ranks at the places that the map says. `nodes` has a number for the node of each rank.
/// BadArgument: the list of the map is no permutation of the ranks.
ProcessGrid place_ranks(const Coord& lattice, const Coord& grid, const std::vector<int>& nodes,
                        const RankMap& map);

/// The sites of all faces that lead from ranks of a node to those of others, forwards and backwards, for the
/// node that has the most; 0 where there is one node.
int64_t surface_between_nodes(const Coord& lattice, const ProcessGrid& grid, const std::vector<int>& nodes);

}  // namespace trellis
