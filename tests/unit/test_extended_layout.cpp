/// In the order of gauge fields with its halo, walks of any shape that stay within the halo end at the true
/// site, in every lane, for many extents, grids, lane counts and widths.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/lattice/extended_layout.hpp"

namespace trellis {
namespace in_test_extended_layout {

struct Case {
  Coord lattice, grid;
  int width;
};

const std::vector<Case> cases{
    {{4, 4, 4, 4}, {1, 1, 1, 1}, 2},   {{2, 2, 2, 2}, {1, 1, 1, 1}, 2},  {{2, 4, 6, 8}, {1, 1, 1, 1}, 1},
    {{8, 4, 4, 4}, {2, 1, 1, 1}, 2},   {{4, 4, 4, 32}, {1, 1, 1, 4}, 3}, {{8, 4, 12, 4}, {2, 1, 3, 2}, 2},
    {{8, 8, 16, 16}, {1, 1, 2, 2}, 3}, {{4, 4, 4, 4}, {2, 2, 2, 2}, 2},  {{16, 8, 4, 8}, {1, 1, 1, 2}, 2},
    {{4, 4, 4, 8}, {1, 1, 1, 2}, 3},   {{8, 8, 8, 8}, {2, 2, 2, 2}, 3},
};

class ExtendedLayoutTest : public ::testing::TestWithParam<std::tuple<size_t, int>> {
 protected:
  const Case& data() const { return cases[std::get<0>(GetParam())]; }
  int lanes() const { return std::get<1>(GetParam()); }
  ExtendedLayout layout(int rank) const {
    return ExtendedLayout(Geometry(data().lattice, ProcessGrid(data().grid), rank), lanes(), data().width);
  }
  int ranks() const { return int(product(data().grid)); }
};

TEST_P(ExtendedLayoutTest, blocks_and_lanes_are_inverse_to_coordinates) {
  for (int rank = 0; rank < ranks(); ++rank) {
    const ExtendedLayout e = layout(rank);
    const Geometry& geometry = e.geometry();
    std::set<std::pair<int, int>> seen;
    for (int64_t i = 0; i < geometry.local_volume(); ++i) {
      const Coord x = site_coord(i, geometry.local());
      EXPECT_EQ(e.coord(e.block_at(x), e.lane_at(x)), x);
      seen.insert({e.block_at(x), e.lane_at(x)});
    }
    EXPECT_EQ(int64_t(seen.size()), geometry.local_volume());
    EXPECT_EQ(int64_t(e.inner().size()) * e.lanes(), geometry.local_volume());
    EXPECT_EQ(e.inner(0).size() + e.inner(1).size(), e.inner().size());
    for (int parity = 0; parity < 2; ++parity)
      for (const int32_t block : e.inner(parity))
        for (int lane = 0; lane < e.lanes(); ++lane)
          EXPECT_EQ(site_parity(geometry.to_global(e.coord(block, lane))), parity);
  }
}

Coord wrapped(Coord x, const Coord& L) {
  for (int mu = 0; mu < Nd; ++mu) x[mu] = ((x[mu] % L[mu]) + L[mu]) % L[mu];
  return x;
}

/// A walk keeps a block and the number of a lane displacement. A block of the halo holds the true sites lane
/// by lane, so coord(block, lane) may lie outside of the local lattice there; it is meant modulo the whole
/// lattice.
TEST_P(ExtendedLayoutTest, random_walks_end_at_the_true_site) {
  const Coord& L = data().lattice;
  test::Random random(5);
  for (int rank = 0; rank < ranks(); ++rank) {
    const ExtendedLayout e = layout(rank);
    const Geometry& geometry = e.geometry();
    for (int walk = 0; walk < 400; ++walk) {
      int block = e.inner()[size_t(random.below(int(e.inner().size())))], shift = 0;
      const int start = block;
      Coord moved{0, 0, 0, 0};
      for (int step = 0; step < 2 * data().width + 2; ++step) {
        const int leg = random.below(8), mu = leg / 2;
        const int32_t entry = e.neighbours()[size_t(block) * 8 + size_t(leg)];
        if (entry < 0) {
          EXPECT_TRUE(geometry.is_split(mu)) << "only split directions end";
          continue;
        }
        if (entry & 1) shift = e.shift_sums()[size_t(shift) * size_t(e.lanes()) + size_t(e.shift(leg))];
        block = entry >> 1;
        moved[mu] += leg % 2 == 0 ? 1 : -1;
        for (int lane = 0; lane < e.lanes(); ++lane) {
          Coord expected = geometry.to_global(e.coord(start, lane));
          for (int nu = 0; nu < Nd; ++nu) expected[nu] += moved[nu];
          const int source = e.permutations()[16 * shift + lane];
          ASSERT_EQ(wrapped(geometry.to_global(e.coord(block, source)), L), wrapped(expected, L))
              << "rank " << rank << " walk " << walk << " lane " << lane;
        }
      }
    }
  }
}

TEST_P(ExtendedLayoutTest, the_halo_is_as_wide_as_asked) {
  const ExtendedLayout e = layout(0);
  int64_t expected = 1;
  for (int mu = 0; mu < Nd; ++mu)
    expected *= e.sub_extents()[mu] + (e.geometry().is_split(mu) ? 2 * data().width : 0);
  EXPECT_EQ(e.blocks(), expected);
  for (int mu = 0; mu < Nd; ++mu) {
    int block = e.block_of({0, 0, 0, 0}), steps = 0;
    while (steps <= data().width) {
      const int32_t entry = e.neighbours()[size_t(block) * 8 + size_t(2 * mu + 1)];
      if (entry < 0) break;
      block = entry >> 1;
      ++steps;
    }
    EXPECT_EQ(steps, e.geometry().is_split(mu) ? data().width : data().width + 1);
  }
}

TEST(ExtendedLayout, too_short_local_extents_are_refused) {
  const Geometry geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 2, 2}));
  EXPECT_THROW(ExtendedLayout(geometry, 1, 3), BadArgument);
  try {
    ExtendedLayout(geometry, 1, 3);
  } catch (const BadArgument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("at least 4"), std::string::npos) << text;
    EXPECT_NE(text.find("direction z"), std::string::npos) << text;
    EXPECT_NE(text.find("rank counts that do: 1, 2"), std::string::npos) << text;
  }
  try {
    ExtendedLayout(Geometry({4, 4, 8, 8}, ProcessGrid({1, 1, 1, 4})), 1, 3);
    FAIL() << "a local extent of 2 was accepted";
  } catch (const BadArgument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("grids of 4 ranks that allow it: 1x1x2x2"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(ExtendedLayout(Geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2})), 1, 3));
}

/// Sixteen lanes cut the local extent 4 of t into 2: the third ghost layer lies two lanes away.
TEST(ExtendedLayout, a_halo_may_be_wider_than_the_part_of_a_lane) {
  const ExtendedLayout e(Geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2})), 16, 3);
  EXPECT_EQ(e.lanes(), 16);
  EXPECT_EQ(e.sub_extents()[3], 2);
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<size_t, int>>& info) {
  const Case& c = cases[std::get<0>(info.param)];
  return message("L", to_string(c.lattice), "_grid", to_string(c.grid), "_width", c.width, "_lanes",
                 std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Decompositions, ExtendedLayoutTest,
                         ::testing::Combine(::testing::Range(size_t(0), cases.size()),
                                            ::testing::Values(1, 4, 8, 16)),
                         case_name);

}  // namespace in_test_extended_layout
}  // namespace trellis
