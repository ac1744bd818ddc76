/// In the even-odd site order with lanes maps are inverse, and the neighbour table with its ghosts agrees
/// with neighbours found by brute force over the whole lattice, for many extents, grids and lane counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "trellis/base/error.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {
namespace in_test_site_layout {

struct Decomposition {
  Coord lattice, grid;
};

const std::vector<Decomposition> decompositions{
    {{4, 4, 4, 4}, {1, 1, 1, 1}},  {{2, 2, 2, 2}, {1, 1, 1, 1}},  {{2, 4, 6, 8}, {1, 1, 1, 1}},
    {{8, 4, 4, 4}, {2, 1, 1, 1}},  {{4, 4, 4, 16}, {1, 1, 1, 4}}, {{8, 4, 12, 4}, {2, 1, 3, 2}},
    {{4, 8, 8, 8}, {2, 2, 2, 2}},  {{4, 4, 4, 4}, {2, 2, 2, 2}},  {{6, 10, 4, 8}, {3, 1, 1, 2}},
    {{16, 4, 2, 4}, {1, 1, 1, 2}}, {{8, 8, 8, 8}, {1, 2, 1, 2}},  {{6, 6, 2, 4}, {2, 2, 1, 2}},
    {{6, 6, 2, 2}, {2, 2, 2, 2}},  {{6, 1, 8, 1}, {2, 1, 1, 1}},  {{1, 1, 1, 1}, {1, 1, 1, 1}},
};

class SiteLayoutTest : public ::testing::TestWithParam<std::tuple<size_t, int>> {
 protected:
  const Decomposition& decomposition() const { return decompositions[std::get<0>(GetParam())]; }
  int lanes() const { return std::get<1>(GetParam()); }
  /// Returns one layout a rank, as the ranks would build them.
  std::vector<SiteLayout> all_ranks() const {
    const ProcessGrid grid(decomposition().grid);
    std::vector<SiteLayout> layouts;
    for (int rank = 0; rank < grid.size(); ++rank)
      layouts.emplace_back(Geometry(decomposition().lattice, grid, rank), lanes());
    return layouts;
  }
};

TEST_P(SiteLayoutTest, position_and_coord_are_inverse) {
  for (const SiteLayout& layout : all_ranks()) {
    const Geometry& geometry = layout.geometry();
    std::set<std::tuple<int, int, int>> seen;
    for (int64_t i = 0; i < geometry.local_volume(); ++i) {
      const Coord x = site_coord(i, geometry.local());
      const SitePosition at = layout.position(x);
      EXPECT_EQ(layout.coord(at), x);
      EXPECT_EQ(at.parity, site_parity(geometry.to_global(x)));
      ASSERT_GE(at.block, 0);
      ASSERT_LT(at.block, layout.blocks(at.parity));
      ASSERT_GE(at.lane, 0);
      ASSERT_LT(at.lane, layout.lanes());
      seen.insert({at.parity, at.block, at.lane});
    }
    EXPECT_EQ(int64_t(seen.size()), geometry.local_volume());
    const int64_t blocks = layout.blocks(0) + layout.blocks(1);
    EXPECT_EQ(blocks * layout.lanes(), geometry.local_volume());
    EXPECT_EQ(layout.blocks(), std::max(layout.blocks(0), layout.blocks(1)));
  }
}

/// Returns the site that a table entry means in one lane: on this rank, or in the face of a neighbour.
Coord global_neighbour(const std::vector<SiteLayout>& ranks, const SiteLayout& here, int parity, int leg,
                       int32_t entry, int lane) {
  const int index = entry >> SiteLayout::index_shift, other = 1 - parity;
  const bool is_ghost = entry & SiteLayout::ghost_bit, crosses = entry & SiteLayout::crosses_bit;
  const int source_lane = crosses ? here.permutation(leg)[lane] : lane;
  if (!is_ghost) return here.geometry().to_global(here.coord({other, index, source_lane}));
  // Ghost block i is face block i of the sender's opposite leg, whose lanes move in the same way. Lanes that
  // stay on this rank come from the same face of this rank.
  const int mu = leg / 2, step = leg % 2 == 0 ? 1 : -1;
  const SiteLayout& sender =
      here.leaves_rank(leg, lane) ? ranks[size_t(here.geometry().neighbour_rank(mu, step))] : here;
  const int block = sender.face(other, leg ^ 1).at(size_t(index));
  return sender.geometry().to_global(sender.coord({other, block, source_lane}));
}

TEST_P(SiteLayoutTest, neighbours_agree_with_brute_force_in_every_lane) {
  const std::vector<SiteLayout> ranks = all_ranks();
  const Coord& L = decomposition().lattice;
  for (const SiteLayout& layout : ranks)
    for (int parity = 0; parity < 2; ++parity)
      for (int block = 0; block < layout.blocks(parity); ++block)
        for (int leg = 0; leg < legs; ++leg) {
          const int32_t entry = layout.neighbours(parity)[size_t(block) * legs + size_t(leg)];
          for (int lane = 0; lane < layout.lanes(); ++lane) {
            Coord expected = layout.geometry().to_global(layout.coord({parity, block, lane}));
            const int mu = leg / 2;
            if (L[mu] == 1) {
              ASSERT_EQ(entry, -1) << "there is no hop";
              continue;
            }
            expected[mu] = (expected[mu] + (leg % 2 == 0 ? 1 : L[mu] - 1)) % L[mu];
            ASSERT_EQ(global_neighbour(ranks, layout, parity, leg, entry, lane), expected)
                << "parity " << parity << " block " << block << " leg " << leg << " lane " << lane;
          }
        }
}

TEST_P(SiteLayoutTest, faces_are_the_edges_of_the_sub_lattice) {
  for (const SiteLayout& layout : all_ranks())
    for (int parity = 0; parity < 2; ++parity)
      for (int leg = 0; leg < legs; ++leg) {
        const auto& face = layout.face(parity, leg);
        const int mu = leg / 2;
        if (layout.geometry().lattice()[mu] == 1) continue;
        const size_t both = face.size() + layout.face(1 - parity, leg).size();
        EXPECT_EQ(int64_t(both), product(layout.sub_extents()) / layout.sub_extents()[mu]);
        for (const int32_t block : face) {
          const Coord x = layout.coord({parity, block, 0});
          EXPECT_EQ(x[mu], leg % 2 == 0 ? layout.sub_extents()[mu] - 1 : 0);
        }
        // Ghosts are numbered as the face blocks that need them, and crossing is the face's mark.
        size_t ghost = 0;
        for (int block = 0; block < layout.blocks(parity); ++block) {
          const int32_t entry = layout.neighbours(parity)[size_t(block) * legs + size_t(leg)];
          const bool in_face = ghost < face.size() && face[ghost] == block;
          EXPECT_EQ((entry & SiteLayout::crosses_bit) != 0, in_face);
          EXPECT_EQ((entry & SiteLayout::ghost_bit) != 0, in_face && layout.geometry().is_split(mu));
          if (entry & SiteLayout::ghost_bit) {
            EXPECT_EQ(entry >> SiteLayout::index_shift, int(ghost));
          }
          ghost += in_face ? 1 : 0;
        }
        EXPECT_EQ(ghost, face.size());
      }
}

TEST_P(SiteLayoutTest, inner_and_border_share_the_blocks) {
  for (const SiteLayout& layout : all_ranks())
    for (int parity = 0; parity < 2; ++parity) {
      std::set<int32_t> all(layout.inner(parity).begin(), layout.inner(parity).end());
      for (const int32_t block : layout.border(parity)) {
        EXPECT_TRUE(all.insert(block).second) << "in both lists";
        bool has_ghost = false;
        for (int leg = 0; leg < legs; ++leg)
          has_ghost =
              has_ghost ||
              (layout.geometry().lattice()[leg / 2] > 1 &&
               (layout.neighbours(parity)[size_t(block) * legs + size_t(leg)] & SiteLayout::ghost_bit) != 0);
        EXPECT_TRUE(has_ghost);
      }
      EXPECT_EQ(int(all.size()), layout.blocks(parity));
    }
}

TEST_P(SiteLayoutTest, lanes_leave_the_rank_at_its_edge) {
  for (const SiteLayout& layout : all_ranks())
    for (int leg = 0; leg < legs; ++leg) {
      const int mu = leg / 2;
      EXPECT_EQ(layout.permutes(leg), layout.lane_extents()[mu] > 1);
      for (int lane = 0; lane < layout.lanes(); ++lane) {
        const int at = layout.lane_coord(lane)[mu];
        EXPECT_EQ(layout.leaves_rank(leg, lane), at == (leg % 2 == 0 ? layout.lane_extents()[mu] - 1 : 0));
        EXPECT_EQ(layout.permutation(leg ^ 1)[layout.permutation(leg)[lane]], lane) << "there and back";
      }
    }
}

/// Long directions of space are split first, so that time slices have few blocks; then the longest one is
/// split, and last of all what ranks split.
TEST(LaneSplit, keeps_time_slices_small) {
  const auto split = [](const Coord& lattice, const Coord& grid, int lanes) {
    return choose_lane_split(Geometry(lattice, ProcessGrid(grid), 0), lanes).lanes_per_direction;
  };
  const Coord alone{1, 1, 1, 1};
  EXPECT_EQ(split({24, 24, 24, 48}, alone, 8), (Coord{2, 2, 2, 1}));
  EXPECT_EQ(split({16, 16, 16, 32}, alone, 16), (Coord{4, 2, 2, 1}));
  EXPECT_EQ(split({8, 8, 8, 8}, alone, 16), (Coord{2, 2, 2, 2}));
  EXPECT_EQ(split({4, 4, 4, 16}, alone, 4), (Coord{1, 1, 1, 4}));
  EXPECT_EQ(split({16, 16, 32, 16}, {1, 1, 2, 1}, 16), (Coord{4, 4, 1, 1}));
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<size_t, int>>& info) {
  const Decomposition& d = decompositions[std::get<0>(info.param)];
  return message("L", to_string(d.lattice), "_grid", to_string(d.grid), "_lanes", std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Decompositions, SiteLayoutTest,
                         ::testing::Combine(::testing::Range(size_t(0), decompositions.size()),
                                            ::testing::Values(1, 4, 8, 16)),
                         case_name);

}  // namespace in_test_site_layout
}  // namespace trellis
