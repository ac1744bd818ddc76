#include "trellis/field/rank_placement.hpp"

#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
RankMap& current() {
  static RankMap map = [] {
    const char* name = std::getenv("TRELLIS_RANK_ORDER");
    if (name == nullptr || *name == '\0') return RankMap{};
    try {
      return RankMap{rank_order_by_name(name)};
    } catch (const BadArgument& error) {
      throw BadArgument(message("TRELLIS_RANK_ORDER: ", error.what()));
    }
  }();
  return map;
}
}  // namespace

const RankMap& rank_map() { return current(); }

void set_rank_map(RankMap map) {
  const int ranks = world()->size();
  if (!map.rank_at.empty()) {
    TRELLIS_REQUIRE(map.rank_at.size() == size_t(ranks), "a list of ranks names each of the ", ranks,
                    " ranks once, found ", map.rank_at.size(), " of them");
    ProcessGrid({ranks, 1, 1, 1}, map.rank_at);  // it throws where this is no permutation
  }
  current() = std::move(map);
}

int64_t surface_between_nodes(const Coord& lattice, const Coord& grid, const Communicator& communicator) {
  const std::vector<int>& nodes = communicator.nodes();
  return surface_between_nodes(lattice, place_ranks(lattice, grid, nodes, rank_map()), nodes);
}

}  // namespace trellis
