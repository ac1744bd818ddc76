// ranks: 1 2 4 8
/// Wilson loops on every process grid have the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/gauge/wilson_loops.hpp"

namespace trellis {
namespace in_test_wilson_loops {

TEST(WilsonLoopsGrids, every_grid_gives_the_bits_of_one_process) {
  const Coord extents{4, 2, 4, 8};
  const auto U = test::random_gauge(extents, 43);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const auto expected = wilson_loops(test::to_product(alone, U, 1), 4, 4, LoopPlanes::all);
  for (const Coord& grid : legal_process_grids(extents, world()->size()))
    for (const int lanes : {8})
      EXPECT_EQ(wilson_loops(test::to_product(make_lattice(extents, grid), U, lanes), 4, 4, LoopPlanes::all),
                expected)
          << message("grid ", to_string(grid), " lanes ", lanes);
}

}  // namespace in_test_wilson_loops
}  // namespace trellis
