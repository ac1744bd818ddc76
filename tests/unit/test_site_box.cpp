/// These tests take boxes of ranks, and what those of two grids have in common.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/lattice/site_box.hpp"

namespace trellis {
namespace in_test_site_box {

TEST(SiteBox, is_what_the_geometry_has_where_extents_are_even) {
  const Coord lattice{4, 8, 4, 8};
  const ProcessGrid grid({1, 2, 1, 2}, {3, 1, 0, 2});
  for (int rank = 0; rank < 4; ++rank) {
    const Geometry geometry(lattice, grid, rank);
    const SiteBox box = box_of_rank(lattice, grid, rank);
    EXPECT_EQ(box.origin, geometry.origin());
    EXPECT_EQ(box.extents, geometry.local());
  }
}

/// Every site of a box lies in one common box, and that rank has it.
TEST(SiteBox, common_boxes_hold_every_site_once) {
  const Coord lattice{6, 1, 4, 6};  // local extents are odd, 1 included
  const ProcessGrid from({2, 1, 1, 3}), to({3, 1, 4, 1}, {4, 2, 7, 1, 0, 11, 3, 5, 6, 9, 10, 8});
  for (int rank = 0; rank < from.size(); ++rank) {
    const SiteBox own = box_of_rank(lattice, from, rank);
    std::set<int64_t> seen;
    for (const auto& [peer, box] : common_boxes(own, lattice, to)) {
      const SiteBox theirs = box_of_rank(lattice, to, peer);
      for_each_row(box, [&, &part = box](Coord x) {
        for (int i = 0; i < part.extents[0]; ++i, ++x[0]) {
          EXPECT_TRUE(seen.insert(site_index(x, lattice)).second);
          for (int mu = 0; mu < Nd; ++mu) {
            EXPECT_GE(x[mu], std::max(own.origin[mu], theirs.origin[mu]));
            EXPECT_LT(x[mu], own.origin[mu] + own.extents[mu]);
            EXPECT_LT(x[mu], theirs.origin[mu] + theirs.extents[mu]);
          }
        }
      });
    }
    EXPECT_EQ(int64_t(seen.size()), own.sites());
  }
}

TEST(SiteBox, refuses_what_does_not_fit) {
  const ProcessGrid grid({2, 1, 1, 1});
  EXPECT_THROW(box_of_rank({5, 4, 4, 4}, grid, 0), BadArgument);
  EXPECT_THROW(box_of_rank({0, 4, 4, 4}, grid, 0), BadArgument);
  EXPECT_THROW(box_of_rank({4, 4, 4, 4}, grid, 2), BadArgument);
  EXPECT_THROW(common_boxes({{0, 0, 0, 2}, {4, 4, 4, 4}}, {4, 4, 4, 4}, grid), BadArgument);
  try {
    box_of_rank({4, 4, 4, 6}, ProcessGrid({1, 1, 1, 4}), 0);
    FAIL();
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what())
                  .find("lattice 4x4x4x6 cannot be cut by the process grid 1x1x1x4: its extent 6 in "
                        "direction t is no multiple of 4"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace in_test_site_box
}  // namespace trellis
