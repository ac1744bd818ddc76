/// In the order of visits every block comes once, and a block's neighbours in time lie within reach of a
/// small cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "trellis/lattice/walk_order.hpp"

namespace trellis {
namespace in_test_walk_order {

std::vector<int32_t> all_blocks(const SiteLayout& layout) {
  std::vector<int32_t> blocks(size_t(layout.blocks()));
  std::iota(blocks.begin(), blocks.end(), 0);
  return blocks;
}

/// Counts for each visit how many visits ago a neighbour through one of the legs was last needed (blocks of
/// the other parity count by their number). Returns the sum over legs of how often that was more than `reach`
/// ago or never.
int visits_out_of_reach(const SiteLayout& layout, const std::vector<int32_t>& order, int reach) {
  std::vector<int> last(size_t(layout.blocks()), -1 - reach);
  int misses = 0;
  for (int visit = 0; visit < int(order.size()); ++visit)
    for (int leg = 0; leg < legs; ++leg) {
      const int neighbour =
          layout.neighbours(0)[size_t(order[size_t(visit)]) * legs + size_t(leg)] >> SiteLayout::index_shift;
      if (visit - last[size_t(neighbour)] > reach) ++misses;
      last[size_t(neighbour)] = visit;
    }
  return misses;
}

TEST(WalkOrder, visits_every_block_once) {
  for (const Coord& lattice :
       {Coord{4, 4, 4, 4}, Coord{8, 6, 10, 4}, Coord{16, 16, 16, 16}, Coord{2, 2, 2, 2}})
    for (const int lanes : {1, 4, 8, 16})
      for (const int column_blocks : {0, 1, 5, 64, 1000000}) {
        const SiteLayout layout(Geometry(lattice, ProcessGrid({1, 1, 1, 1}), 0), lanes);
        std::vector<int32_t> order = in_columns(layout, all_blocks(layout), column_blocks);
        std::sort(order.begin(), order.end());
        EXPECT_EQ(order, all_blocks(layout)) << to_string(lattice) << ", lanes " << lanes;
      }
}

TEST(WalkOrder, keeps_a_subset_of_blocks) {
  const SiteLayout layout(Geometry({16, 16, 16, 16}, ProcessGrid({1, 1, 1, 2}), 0), 8);
  const std::vector<int32_t>& inner = layout.inner(1);
  std::vector<int32_t> order = in_columns(layout, inner, 64);
  EXPECT_NE(order, inner);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, inner);
}

TEST(WalkOrder, whole_slices_that_fit_stay_in_order) {
  const SiteLayout layout(Geometry({8, 8, 8, 8}, ProcessGrid({1, 1, 1, 1}), 0), 8);
  const int slice = layout.blocks() / layout.sub_extents()[3];
  EXPECT_EQ(in_columns(layout, all_blocks(layout), slice), all_blocks(layout));
}

/// The cache holds what two time slices of a column need, but not two of the lattice.
TEST(WalkOrder, fewer_neighbours_come_again) {
  const SiteLayout layout(Geometry({24, 24, 24, 16}, ProcessGrid({1, 1, 1, 1}), 0), 8);
  const int column_blocks = 150;
  ASSERT_LT(4 * column_blocks, layout.blocks() / layout.sub_extents()[3]);
  const int plain = visits_out_of_reach(layout, all_blocks(layout), 2 * column_blocks);
  const int columns =
      visits_out_of_reach(layout, in_columns(layout, all_blocks(layout), column_blocks), 2 * column_blocks);
  EXPECT_LT(columns, 0.85 * plain);
}

}  // namespace in_test_walk_order
}  // namespace trellis
