#pragma once
/// A map says which rank has which place on the process grid, and this file counts what that costs between
/// nodes. The code computes with integers only; python/trellis/ground/rank_map.py has the same rules for
/// programs that load no compiled part.
#include <cstdint>
#include <string>
#include <vector>

#include "trellis/lattice/geometry.hpp"

namespace trellis {

enum class RankOrder {
  box,          ///< ranks of a node lie side by side (group_by_node)
  x_fastest,    ///< ranks lie in their order, x first
  time_fastest  ///< ranks lie in their order, t first, then z and y
};

const char* name_of(RankOrder order);
/// Returns the order of a name; throws BadArgument with the legal names.
RankOrder rank_order_by_name(const std::string& name);

struct RankMap {
  RankOrder order = RankOrder::box;
  /// Where it is not empty it comes before the order, for grids with as many places. It has the rank of each
  /// place, x fastest.
  std::vector<int> rank_at = {};
};

/// Returns the grid with ranks at the places that the map says. `nodes` has a number for the node of each
/// rank. Throws BadArgument where the list of the map is no permutation of the ranks.
ProcessGrid place_ranks(const Coord& lattice, const Coord& grid, const std::vector<int>& nodes,
                        const RankMap& map);

/// Counts the sites of all faces that lead from ranks of a node to those of others, forwards and backwards,
/// for the node that has the most; 0 where there is one node.
int64_t surface_between_nodes(const Coord& lattice, const ProcessGrid& grid, const std::vector<int>& nodes);

}  // namespace trellis
