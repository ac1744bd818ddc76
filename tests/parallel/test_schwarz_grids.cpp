// ranks: 1 2 3 4 8
/// The Schwarz method on every process grid has the bits of a single process, and its messages and launches
/// are those that it states.
#include <gtest/gtest.h>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/comm/traffic.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/multigrid/schwarz.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {
namespace in_test_schwarz_grids {

struct Problem {
  Coord extents, block;
  Precision storage;
  bool is_additive = false;
};

struct Result {
  std::vector<double> z;
  Cost stated;
  int64_t messages = 0, sums = 0, launches = 0;  ///< these are counted
};

Result cycles_on(const LatticePtr& lattice, const Problem& problem, int lanes) {
  WilsonParams params{.mass = 0.05, .csw_spatial = 1.0, .csw_temporal = 1.0};
  params.boundary = {std::polar(1.0, 0.4), 1.0, 1.0, -1.0};
  const GaugeField U = test::to_product(lattice, test::random_gauge(problem.extents, 31, 0.3));
  const OperatorCopies M(LinearOperatorPtr(
      std::make_shared<WilsonOperator>(U, params, KernelChoice{.precision = Precision::single_precision})));
  SpinorField r = M->make_field(2), z = SpinorField::like(r);
  for (int slot = 0; slot < 2; ++slot)
    test::to_product(r, test::random_spinors(problem.extents, uint64_t(32 + slot)), slot);
  const auto schwarz = SolverSpec(SchwarzSpec{.block = problem.block,
                                              .cycles = 3,
                                              .is_additive = problem.is_additive,
                                              .storage = problem.storage,
                                              .lanes = lanes})
                           ->inside(M, 2);
  SolveCost cost;
  const Traffic before = traffic();
  const int64_t launched = launches();
  schwarz->apply(z, r, cost);
  return {test::canonical_part(z, 1), cost, traffic().messages - before.messages,
          traffic().sums - before.sums, launches() - launched};
}

std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole) {
  std::vector<double> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * 24];
    part.insert(part.end(), p, p + 24);
  }
  return part;
}

TEST(SchwarzGrids, every_grid_gives_the_bits_of_one_process) {
  for (const Problem& problem : {Problem{{8, 4, 4, 8}, {2, 2, 2, 2}, Precision::half_precision},
                                 Problem{{12, 4, 4, 4}, {2, 2, 2, 2}, Precision::single_precision},
                                 Problem{{12, 4, 4, 8}, {2, 2, 2, 2}, Precision::single_precision, true},
                                 Problem{{16, 8, 8, 16}, {4, 4, 4, 4}, Precision::single_precision}}) {
    const auto alone = make_lattice(problem.extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
    const auto expected = test::on_one_rank([&] { return cycles_on(alone, problem, 1).z; });
    for (const Coord& grid : legal_process_grids(problem.extents, world()->size())) {
      const auto lattice = make_lattice(problem.extents, grid);
      if (!block_order_error(lattice->geometry(), problem.block).empty()) continue;
      const Result found = cycles_on(lattice, problem, 0);
      EXPECT_TRUE(found.z == local_part(lattice->geometry(), expected)) << to_string(grid);
      EXPECT_EQ(found.stated.launches, found.launches) << to_string(grid);
      EXPECT_EQ(found.stated.message_count(), found.messages) << to_string(grid);
      EXPECT_EQ(found.sums, 0) << to_string(grid);
    }
  }
}

}  // namespace in_test_schwarz_grids
}  // namespace trellis
