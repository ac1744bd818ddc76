/// These tests say when a solve is given up, and what it goes on with.
#include "trellis/solver/stagnation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/solver_test_operators.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_stagnation {

constexpr double tolerance = 1e-10;

/// Returns the iteration at which a solve with the residuals |r|(n) / |b| is given up, or -1 where it reaches
/// the tolerance or its iterations run out before.
int given_up_at(const std::function<double(int)>& residual, int max_iterations,
                const StagnationRule& rule = unsure_method) {
  ResidualRecord record;
  for (int n = 1; n <= max_iterations; ++n) {
    const double r = residual(n);
    record.add(r * r);
    if (r <= tolerance) return -1;
    if (record.is_stuck(rule, tolerance, max_iterations)) return n;
  }
  return -1;
}

TEST(Stagnation, a_residual_that_stays_where_it_is_is_given_up_early) {
  const auto stuck = [](int n) { return std::max(1e-2, std::exp(-0.05 * n)) * (1 + 0.3 * std::sin(n)); };
  EXPECT_EQ(given_up_at(stuck, 10000), unsure_method.least_iterations);
  EXPECT_EQ(given_up_at(stuck, 10000, low_storage_cg), low_storage_cg.least_iterations);
  EXPECT_EQ(given_up_at(stuck, 10000, StagnationRule{}), -1) << "without a rule";
  const auto growing = [](int n) { return 1e-2 * std::exp(0.001 * n); };
  EXPECT_EQ(given_up_at(growing, 10000), unsure_method.least_iterations);
}

TEST(Stagnation, slow_convergence_and_long_plateaus_are_not) {
  EXPECT_EQ(given_up_at([](int n) { return std::exp(-0.0024 * n); }, 10000), -1) << "just in time";
  const auto plateau = [](int length) {
    return [length](int n) {
      return n < 100 ? std::exp(-0.02 * n) : 0.13 * std::exp(-0.05 * std::max(0, n - length));
    };
  };
  EXPECT_EQ(given_up_at(plateau(700), 10000), -1);
  EXPECT_GT(given_up_at(plateau(5000), 10000), 0);
  // A second plateau is as long as all before it.
  const auto late = [](int n) {
    return n < 1000 ? std::exp(-0.01 * n) : 4.5e-5 * std::exp(-0.02 * std::max(0, n - 1900));
  };
  EXPECT_EQ(given_up_at(late, 10000), -1);
}

/// The rule is like that for multigrid, which takes off a digit in a few iterations or goes nowhere.
TEST(Stagnation, a_rule_may_say_how_many_iterations_a_solve_is_worth) {
  const StagnationRule rule{.least_iterations = 32, .least_gain = 0, .most_iterations = 400, .spacing = 16};
  EXPECT_EQ(given_up_at([](int n) { return std::max(1e-2, std::exp(-0.5 * n)); }, 10000, rule), 32);
  EXPECT_EQ(given_up_at([](int n) { return std::exp(-0.1 * n); }, 10000, rule), -1);
  const auto slow = [](int n) { return std::exp(-0.04 * n); };  // it needs 576
  const int given_up = given_up_at(slow, 10000, rule);
  EXPECT_GT(given_up, 128);
  EXPECT_LT(given_up, 400);
  EXPECT_EQ(given_up_at(slow, 10000), -1);
}

TEST(Stagnation, claims_that_were_wrong_do_not_count) {
  ResidualRecord record;
  for (int n = 1; n <= 640; ++n) record.add(1e-12);  // the recursion claims 1e-6
  record.correct(1e-2);                              // the truth is 0.1
  bool is_stuck = false;
  for (int n = 1; n <= 640 && !is_stuck; ++n) {
    const double r = 0.1 * std::exp(-0.02 * n);  // from there on it converges
    record.add(r * r);
    is_stuck = record.is_stuck(unsure_method, tolerance, 10000);
  }
  EXPECT_FALSE(is_stuck);
}

/// Eigenvalues lie all around zero: restarted GCR and MR get nowhere, CG on the normal equations does.
class StuckSolve : public testing::Test {
 protected:
  LatticePtr lattice_ = make_lattice({4, 2, 2, 6});
  std::shared_ptr<const test::KnownOperator> A_ = test::make_around_zero(lattice_, 10.0);
  SpinorField b_ = test::random_source(*A_, 2);
};

TEST_F(StuckSolve, goes_on_with_conjugate_gradients) {
  const SolverSpec specs[] = {GcrSpec{tolerance, 4000, 2}, MrSpec{tolerance, 4000},
                              MixedPrecisionSpec{GcrSpec{tolerance, 4000, 2}, Precision::half_precision}};
  for (const SolverSpec& spec : specs) {
    SpinorField x = SpinorField::like(b_);
    const SolveReport report = solve(spec, *A_, x, b_);
    EXPECT_TRUE(report.converged) << report.summary();
    for (int r = 0; r < 2; ++r) EXPECT_LE(test::residual_of(*A_, x, b_, r), tolerance * (1 + 1e-4));
    ASSERT_EQ(report.stages.size(), 2u) << report.summary();
    EXPECT_EQ(report.stages[0].reason, StopReason::stagnated);
    EXPECT_LT(report.stages[0].iterations, 4000);
    EXPECT_GT(report.stages[0].residual, 1e-3);
    EXPECT_EQ(report.stages[1].reason, StopReason::converged);
    EXPECT_EQ(report.stages[1].method.substr(0, 2), "cg");
    EXPECT_EQ(report.iterations, report.stages[0].iterations + report.stages[1].iterations);
  }
}

TEST_F(StuckSolve, ends_as_stagnated_without_the_fallback) {
  SpinorField x = SpinorField::like(b_);
  const SolveReport report =
      solve(GcrSpec{.tolerance = tolerance, .max_iterations = 4000, .restart_length = 2, .fallback = false},
            *A_, x, b_);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.reason, StopReason::stagnated);
  EXPECT_LT(report.iterations, 4000);
  EXPECT_TRUE(report.stages.empty());
  EXPECT_LE(report.relative_residual[0], 1.0);
}

}  // namespace in_test_stagnation
}  // namespace trellis
