/// These tests cover orders of ranks on the process grid, and the surface between nodes
/// (python/trellis/ground/rank_map.py has the same rules; tests/python/ground/test_rank_map.py compares the
/// two).
#include <gtest/gtest.h>

#include "trellis/base/error.hpp"
#include "trellis/lattice/rank_map.hpp"

namespace trellis {
namespace in_test_rank_map {

std::vector<int> nodes_in_turn(int ranks, int ranks_per_node) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank / ranks_per_node);
  return nodes;
}

/// The lattice is 32^3 x 96 with four ranks a node, on the grids that QMP's rule chooses; numbers are
/// thousands of 1024 sites.
TEST(RankMap, surfaces_of_four_ranks_a_node) {
  struct Row {
    Coord grid;
    int64_t time_fastest, box;
  };
  const Coord lattice{32, 32, 32, 96};
  for (const Row& row : {Row{{1, 2, 2, 4}, 192, 64}, Row{{1, 2, 2, 6}, 160, 64}, Row{{2, 2, 2, 4}, 144, 80},
                         Row{{2, 2, 2, 6}, 112, 64}, Row{{2, 2, 2, 8}, 80, 56}}) {
    const std::vector<int> nodes = nodes_in_turn(int(product(row.grid)), 4);
    const auto surface = [&](RankOrder order) {
      return surface_between_nodes(lattice, place_ranks(lattice, row.grid, nodes, {order}), nodes);
    };
    EXPECT_EQ(surface(RankOrder::time_fastest), 1024 * row.time_fastest) << to_string(row.grid);
    EXPECT_EQ(surface(RankOrder::box), 1024 * row.box) << to_string(row.grid);
  }
}

TEST(RankMap, time_fastest_counts_t_first) {
  const ProcessGrid grid =
      place_ranks({4, 4, 4, 6}, {2, 1, 1, 3}, nodes_in_turn(6, 6), {RankOrder::time_fastest});
  EXPECT_EQ(grid.coord_of(1), (Coord{0, 0, 0, 1}));
  EXPECT_EQ(grid.coord_of(3), (Coord{1, 0, 0, 0}));
  EXPECT_EQ(grid.coord_of(5), (Coord{1, 0, 0, 2}));
}

/// Lattices over fewer ranks than the list has, on coarse grids, keep the rule.
TEST(RankMap, a_list_is_for_grids_of_its_length) {
  const RankMap map{RankOrder::box, {3, 1, 0, 2}};
  EXPECT_EQ(place_ranks({4, 4, 4, 8}, {1, 1, 1, 4}, {0, 0, 0, 0}, map).rank_of({0, 0, 0, 0}), 3);
  EXPECT_TRUE(place_ranks({4, 4, 4, 8}, {1, 1, 1, 2}, {0, 0}, map) == ProcessGrid({1, 1, 1, 2}));
  EXPECT_THROW(place_ranks({4, 4, 4, 8}, {1, 1, 1, 4}, {0, 0, 0, 0}, {RankOrder::box, {0, 1, 1, 2}}),
               BadArgument);
}

TEST(RankMap, one_node_has_no_surface) {
  EXPECT_EQ(surface_between_nodes({8, 8, 8, 8}, ProcessGrid({1, 1, 2, 2}), {5, 5, 5, 5}), 0);
  EXPECT_THROW(surface_between_nodes({8, 8, 8, 8}, ProcessGrid({1, 1, 2, 2}), {5, 5}), BadArgument);
}

TEST(RankMap, names_of_orders) {
  for (const RankOrder order : {RankOrder::box, RankOrder::x_fastest, RankOrder::time_fastest})
    EXPECT_EQ(rank_order_by_name(name_of(order)), order);
  EXPECT_THROW(rank_order_by_name("boxes"), BadArgument);
}

}  // namespace in_test_rank_map
}  // namespace trellis
