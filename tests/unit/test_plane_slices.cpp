/// Every inner block lies in one slice of each plane of an extended layout, together with all blocks that
/// steps in the plane reach, halo included.
#include <gtest/gtest.h>

#include <numeric>

#include "trellis/base/error.hpp"
#include "trellis/lattice/plane_slices.hpp"

namespace trellis {
namespace in_test_plane_slices {

void check(const Coord& extents, const Coord& grid, int rank, int lanes) {
  const ExtendedLayout layout(Geometry(extents, ProcessGrid(grid), rank), lanes, 2);
  const std::string where = message(to_string(extents), " grid ", to_string(grid), " lanes ", lanes);
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = 0; nu < Nd; ++nu) {
      if (mu == nu) continue;
      const PlaneSlices slices(layout, mu, nu);
      std::vector<int> visits(size_t(layout.blocks()), 0);
      for (int slice = 0; slice < slices.slices(); ++slice) {
        const int32_t* blocks = slices.blocks() + size_t(slice) * size_t(slices.blocks_per_slice());
        for (int place = 0; place < slices.blocks_per_slice(); ++place)
          ASSERT_EQ(slices.places()[blocks[place]], place) << where;
        for (const int32_t place : slices.inner()) ++visits[size_t(blocks[place])];
        // A staple outside a plaquette begins one step back or ahead of its corner.
        for (const int32_t place : slices.plaquettes())
          for (const int leg : {2 * mu, 2 * mu + 1, 2 * nu, 2 * nu + 1}) {
            const int32_t entry = layout.neighbours()[size_t(blocks[place]) * 8 + size_t(leg)];
            ASSERT_GE(entry, 0) << where;
            const int32_t there = slices.places()[entry >> 1];
            ASSERT_TRUE(there >= 0 && there < slices.blocks_per_slice()) << where;
            ASSERT_EQ(blocks[there], entry >> 1) << where << ": another slice";
          }
      }
      for (const int32_t block : layout.inner()) ASSERT_EQ(visits[size_t(block)], 1) << where;
      ASSERT_EQ(std::accumulate(visits.begin(), visits.end(), 0), int(layout.inner().size())) << where;
    }
}

TEST(PlaneSlices, cover_the_lattice_plane_by_plane) {
  for (const int lanes : {1, 4, 8, 16}) {
    check({4, 4, 4, 8}, {1, 1, 1, 1}, 0, lanes);
    check({2, 4, 6, 8}, {1, 1, 1, 1}, 0, lanes);
    for (int rank = 0; rank < 4; ++rank) check({8, 4, 4, 8}, {2, 1, 1, 2}, rank, lanes);
    check({8, 8, 8, 8}, {2, 2, 2, 2}, 5, lanes);
  }
}

TEST(PlaneSlices, refuse_what_is_no_plane) {
  const ExtendedLayout layout(Geometry({4, 4, 4, 4}), 8, 2), narrow(Geometry({4, 4, 4, 4}), 8, 1);
  EXPECT_THROW(PlaneSlices(layout, 1, 1), BadArgument);
  EXPECT_THROW(PlaneSlices(layout, 0, 4), BadArgument);
  EXPECT_THROW(PlaneSlices(narrow, 0, 1), BadArgument);
}

}  // namespace in_test_plane_slices
}  // namespace trellis
