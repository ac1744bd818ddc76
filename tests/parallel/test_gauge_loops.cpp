// ranks: 1 2 4 8
/// Loops on every process grid have the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/gauge/loops.hpp"

namespace trellis {
namespace in_test_gauge_loops {

void check_lattice(const Coord& extents) {
  const auto U = test::random_gauge(extents, 41);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const GaugeLoops expected = measure_loops(test::to_product(alone, U, 1));
  for (const Coord& grid : legal_process_grids(extents, world()->size()))
    for (const int lanes : {1, 4, 8, 16}) {
      const std::string where = message(to_string(extents), " grid ", to_string(grid), " lanes ", lanes);
      const GaugeLoops found = measure_loops(test::to_product(make_lattice(extents, grid), U, lanes));
      EXPECT_EQ(found.plaquette, expected.plaquette) << where;
      EXPECT_EQ(found.plaquette_spatial, expected.plaquette_spatial) << where;
      EXPECT_EQ(found.rectangle, expected.rectangle) << where;
      EXPECT_EQ(found.link_trace, expected.link_trace) << where;
      EXPECT_EQ(found.polyakov_loop, expected.polyakov_loop) << where;
      EXPECT_EQ(found.unitarity_violation, expected.unitarity_violation) << where;
    }
}

TEST(GaugeLoopsGrids, every_grid_gives_the_bits_of_one_process) {
  check_lattice({4, 4, 4, 8});
  check_lattice({8, 2, 4, 16});
}

}  // namespace in_test_gauge_loops
}  // namespace trellis
