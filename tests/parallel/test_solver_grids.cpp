// ranks: 1 2 3 4 8
/// Solutions and reports on every process grid are those of a single process, bit for bit.
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_solver_grids {

const Coord extents{4, 6, 4, 8};
constexpr int rhs = 2;

const std::pair<const char*, SolverSpec> solvers[] = {
    {"cg", CgSpec{1e-9}},
    {"bicgstab", BicgstabSpec{1e-9}},
    {"gcr", GcrSpec{1e-9}},
    {"mr", MrSpec{1e-9}},
    {"cg half", MixedPrecisionSpec{CgSpec{1e-9}, Precision::half_precision}},
    {"cg fp16", MixedPrecisionSpec{CgSpec{1e-9}, Precision::fp16_precision}},
    {"bicgstab float", MixedPrecisionSpec{BicgstabSpec{1e-9}, Precision::single_precision}}};

struct Problem {
  explicit Problem(const LatticePtr& lattice, int lanes) {
    WilsonParams params;
    params.mass = 0.1;
    params.csw_spatial = params.csw_temporal = 1.0;
    const auto U = test::random_gauge(extents, 31, 0.7);
    schur =
        std::make_shared<WilsonSchur>(std::make_shared<WilsonMatrix>(test::to_product(lattice, U, lanes),
                                                                     params, KernelChoice{.lanes = lanes}),
                                      SchurForm::symmetric);
    b.emplace(schur->make_field(rhs));
    for (int r = 0; r < rhs; ++r) test::to_product(*b, test::random_spinors(extents, uint64_t(32 + r)), r);
  }
  std::shared_ptr<const WilsonSchur> schur;
  std::optional<SpinorField> b;
};

struct Result {
  std::vector<double> field, relative_residual;
  int iterations = 0;
  double flops = 0;

  auto members() { return std::tie(field, relative_residual, iterations, flops); }
};

/// Returns one result per solver, and multi-shift CG on the normal operator last.
std::vector<Result> solve_all(const LatticePtr& lattice, int lanes) {
  const Problem problem(lattice, lanes);
  std::vector<Result> results;
  for (const auto& [name, spec] : solvers) {
    SpinorField x = problem.schur->make_field(rhs);
    const SolveReport report = solve(spec, *problem.schur, x, *problem.b);
    EXPECT_TRUE(report.converged) << name << ": " << report.summary();
    results.push_back(
        {test::canonical_part(x, rhs - 1), report.relative_residual, report.iterations, report.cost.flops});
  }
  std::vector<SpinorField> x(3, problem.schur->make_field(rhs));
  const auto normal = std::make_shared<NormalOperator>(problem.schur);
  const SolveReport report = multi_shift_cg(normal, {0.01, 0.1, 1.0}, x, *problem.b, {1e-9});
  EXPECT_TRUE(report.converged) << report.summary();
  results.push_back(
      {test::canonical_part(x[1], rhs - 1), report.relative_residual, report.iterations, report.cost.flops});
  return results;
}

std::vector<double> local_part(const Geometry& g, const std::vector<double>& whole) {
  std::vector<double> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const double* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * 24];
    part.insert(part.end(), p, p + 24);
  }
  return part;
}

TEST(SolverGrids, every_grid_gives_the_bits_of_one_process) {
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const std::vector<Result> expected = test::on_one_rank([&] { return solve_all(alone, 1); });
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    const auto lattice = make_lattice(extents, grid);
    const std::vector<Result> found = solve_all(lattice, 0);
    for (size_t k = 0; k < expected.size(); ++k) {
      const std::string where = message("solver ", k, " on grid ", to_string(grid));
      EXPECT_TRUE(local_part(lattice->geometry(), expected[k].field) == found[k].field) << where;
      EXPECT_EQ(expected[k].relative_residual, found[k].relative_residual) << where;
      EXPECT_EQ(expected[k].iterations, found[k].iterations) << where;
      EXPECT_EQ(expected[k].flops, found[k].flops) << where;
    }
  }
}

TEST(SolverGrids, a_nan_on_one_rank_is_thrown_on_all) {
  const auto lattice = make_lattice(extents);
  Problem problem(lattice, 0);
  SpinorField x = problem.schur->make_field(rhs);
  if (world()->rank() == world()->size() - 1) {
    std::vector<double> reals(24, 0.0);
    reals[5] = std::nan("");
    problem.b->set_site({0, 0, 0}, 1, reals.data());
  }
  for (const auto& [name, spec] : solvers)
    EXPECT_THROW(solve(spec, *problem.schur, x, *problem.b), NumericError) << name;
}

}  // namespace in_test_solver_grids
}  // namespace trellis
