#pragma once
/// The ranks of this process's lattices lie on the process grid in this way.
#include <cstdint>

#include "trellis/comm/communicator.hpp"
#include "trellis/lattice/rank_map.hpp"

namespace trellis {

/// Returns the map of lattices made from now on (make_lattice). At the start it is the environment variable
/// TRELLIS_RANK_ORDER (box, x_fastest or time_fastest; other words throw BadArgument), or box. No result
/// depends on it.
const RankMap& rank_map();
/// Sets the map. It is collective by agreement: all ranks have to set the same. Throws BadArgument where a
/// list is no permutation of the ranks of world().
void set_rank_map(RankMap map);

/// Returns surface_between_nodes() of a lattice that is cut by this grid over all ranks of a communicator.
int64_t surface_between_nodes(const Coord& lattice, const Coord& grid, const Communicator& communicator);

}  // namespace trellis
