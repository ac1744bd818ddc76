/// The reference multigrid on F8 agrees with mg_gold.json in SAP, the adaptive set-up with n = 8, and
/// iteration counts.
#include <gtest/gtest.h>

#include <deque>

#include "tests/support/multigrid_fields.hpp"
#include "trellis/base/error.hpp"

namespace trellis::reference {
namespace in_test_reference_multigrid_F8 {

using test::mr_tolerance;
using test::relative_error;

const test::MultigridSystem& F8() {
  static const test::MultigridSystem system(test::field_F8(), {4, 4, 4, 4});
  return system;
}

/// Returns the two-grid cycle with nu = 3 after some sweeps of the set-up.
const TwoGrid& set_up(size_t sweeps) {
  static std::deque<TwoGrid> levels;
  if (levels.empty())
    levels.emplace_back(F8().D, F8().block, F8().init_vectors(8),
                        schwarz_smoother(F8().schwarz(BlockSolver::mr_even_odd), 3));
  while (levels.size() <= sweeps) levels.push_back(levels.back().after_sweep());
  return levels[sweeps];
}

TEST(ReferenceMultigridF8, schwarz_cycles) {
  TRELLIS_NEEDS_DATA();
  const auto sap = F8().schwarz(BlockSolver::mr_even_odd);
  const LevelVector b = test::hash_level_vector(F8().D->size(), 0);
  const std::string id = "f8.sap.mr_evenodd.block4444.n4";
  test::expect_values(test::residuals_of_cycles(F8(), *sap, b),
                      test::multigrid_gold(id + ".residuals_5cycles"), mr_tolerance, id);
  EXPECT_LT(relative_error(norm2(sap->from_zero(b, 1)),
                           test::multigrid_gold(id + ".solution_norm2_1cycle").get<double>()),
            mr_tolerance);
}

TEST(ReferenceMultigridF8, first_test_vectors_and_coarse_operator) {
  TRELLIS_NEEDS_DATA();
  test::expect_values(test::image_norms(*F8().D, set_up(0).test_vectors()),
                      test::multigrid_gold("f8.init_vectors.n8.norm_Dv"), mr_tolerance, "norm_Dv");
  const CoarseOperator& D_c = set_up(0).coarse();
  test::expect_coarse("f8.init_vectors.n8.coarse", set_up(0).prolongator(), D_c, mr_tolerance);
  const auto& legs = test::multigrid_gold("f8.init_vectors.n8.coarse").at("frobenius_by_leg");
  for (int step = 0; step < 8; ++step) {
    double sum = 0;
    for (int64_t X = 0; X < D_c.volume(); ++X) sum += norm2(D_c.leg_matrix(X, step));
    const std::string name =
        std::string(1, "xyzt"[direction(step)]) + (step == forward(direction(step)) ? "+" : "-");
    EXPECT_LT(relative_error(std::sqrt(sum), legs.at(name).get<double>()), mr_tolerance) << name;
  }
}

TEST(ReferenceMultigridF8, sweeps_of_the_set_up) {
  TRELLIS_NEEDS_DATA();
  for (const size_t sweeps : {1u, 3u}) {
    const std::string id = message("f8.setup", sweeps, ".n8.norm_Dv");
    test::expect_values(test::image_norms(*F8().D, set_up(sweeps).test_vectors()), test::multigrid_gold(id),
                        mr_tolerance, id);
  }
}

void expect_solve(const std::string& id, const LevelMap& K) {
  const auto& expected = test::multigrid_gold(id);
  const LevelVector b = test::hash_level_vector(F8().D->size(), 1);
  const GcrSolution solution = flexible_gcr(test::map_of(*F8().D), b, 1e-10, 60, K);
  EXPECT_NEAR(double(solution.residuals.size()), expected.at("iterations").get<double>(), 1) << id;
  test::expect_values(solution.residuals, expected.at("residuals_first5"), mr_tolerance, id);
  const double true_residual = relative_error(F8().D->apply(solution.x), b);
  EXPECT_LT(relative_error(true_residual, solution.residuals.back()), 1e-3) << id;
  testing::Test::RecordProperty(id, message(solution.residuals.size(), " ", true_residual));
}

TEST(ReferenceMultigridF8, gcr_with_the_first_test_vectors) {
  TRELLIS_NEEDS_DATA();
  expect_solve("f8.two_level.setup0.nu3.mr4", [](const LevelVector& r) { return set_up(0).cycle(r); });
}

TEST(ReferenceMultigridF8, gcr_after_one_sweep) {
  TRELLIS_NEEDS_DATA();
  expect_solve("f8.two_level.setup1.nu3.mr4", [](const LevelVector& r) { return set_up(1).cycle(r); });
}

TEST(ReferenceMultigridF8, gcr_with_schwarz_alone) {
  TRELLIS_NEEDS_DATA();
  const auto sap = F8().schwarz(BlockSolver::mr_even_odd);
  expect_solve("f8.sap_only_gcr.nu3.mr4", [&](const LevelVector& r) { return sap->from_zero(r, 3); });
}

}  // namespace in_test_reference_multigrid_F8
}  // namespace trellis::reference
