/// Multi-shift conjugate gradients meet known inverses of every shifted operator.
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/solver_test_operators.hpp"
#include "trellis/base/error.hpp"
#include "trellis/solver/batches.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_solver_multi_shift {

using test::KnownOperator;

const std::vector<double> shifts{0.3, 0.001, 7.0, 0.02, 0.001, 900.0};
constexpr double tolerance = 1e-10;

std::vector<SpinorField> solutions(const LinearOperator& A, size_t count, int rhs) {
  std::vector<SpinorField> x;
  for (size_t k = 0; k < count; ++k)
    x.push_back(test::random_source(A, rhs, 1000 + k));  // on entry they may hold anything
  return x;
}

/// Returns |b - (A + shift) x| / |b|, computed without Trellis' linear algebra.
double residual_of(const KnownOperator& A, double shift, const SpinorField& x, const SpinorField& b,
                   int rhs) {
  test::Vector image = test::canonical_vector(x, rhs);
  const test::Vector solution = image, source = test::canonical_vector(b, rhs);
  A.matrix().apply(image, test::ReflectedDiagonal::Power::direct);
  double difference = 0, norm = 0;
  for (size_t i = 0; i < image.size(); ++i) {
    difference += std::norm(image[i] + shift * solution[i] - source[i]);
    norm += std::norm(source[i]);
  }
  return std::sqrt(difference / norm);
}

TEST(MultiShiftCg, solves_every_shift_of_every_right_hand_side) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  const auto A = test::make_positive(lattice, 200);
  const SpinorField b = test::random_source(*A, 3);
  std::vector<SpinorField> x = solutions(*A, shifts.size(), 3);
  const SolveReport report = multi_shift_cg(A, shifts, x, b, {tolerance});
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_EQ(report.restarts, 0);
  ASSERT_EQ(report.relative_residual.size(), shifts.size() * 3);
  for (size_t k = 0; k < shifts.size(); ++k)
    for (int r = 0; r < 3; ++r) {
      const double residual = residual_of(*A, shifts[k], x[k], b, r);
      EXPECT_LE(residual, tolerance * (1 + 1e-4)) << "shift " << shifts[k];
      EXPECT_NEAR(report.relative_residual[3 * k + size_t(r)], residual, 1e-14);
    }
  // It takes as many iterations as the smallest shift alone.
  SpinorField alone = A->make_field(3);
  const SolveReport single = solve(CgSpec{tolerance}, ShiftedOperator(A, 0.001), alone, b);
  EXPECT_NEAR(report.iterations, single.iterations, 2);
}

TEST(MultiShiftCg, normal_operator_without_shift_among_the_shifts) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  const auto factor = test::make_general(lattice, 8);
  const auto A = std::make_shared<NormalOperator>(factor);
  const SpinorField b = test::random_source(*A, 2);
  for (const std::vector<double>& some : {std::vector<double>{0.0, 0.5}, std::vector<double>{0.1, 0.5}}) {
    std::vector<SpinorField> x = solutions(*A, 2, 2);
    const SolveReport report = multi_shift_cg(A, some, x, b, {tolerance});
    EXPECT_TRUE(report.converged) << report.summary();
    EXPECT_EQ(report.restarts, 0);
    for (size_t k = 0; k < 2; ++k) {
      SpinorField alone = A->make_field(2);
      ASSERT_TRUE(solve(CgSpec{1e-12}, ShiftedOperator(A, some[k]), alone, b).converged);
      const Coefficients one{1, 1}, minus{-1, -1}, size = norm2_each(alone);
      const Coefficients difference = combine_norm2(alone, one, alone, minus, x[k]);
      for (size_t r = 0; r < 2; ++r) EXPECT_LE(std::sqrt(difference[r] / size[r]), 64 * tolerance);
    }
  }
}

/// The recursion in float is finished in mixed precision, with the same promise on the true residual.
TEST(MultiShiftCg, single_precision_inside) {
  const LatticePtr lattice = make_lattice({4, 4, 2, 4});
  const auto A = test::make_positive(lattice, 200);
  const SpinorField b = test::random_source(*A, 3);
  for (const double wanted : {1e-5, 1e-12}) {
    std::vector<SpinorField> x = solutions(*A, shifts.size(), 3);
    MultiShiftSpec spec{wanted};
    spec.precision = Precision::single_precision;
    const SolveReport report = multi_shift_cg(A, shifts, x, b, spec);
    EXPECT_TRUE(report.converged) << report.summary();
    EXPECT_GT(report.mean_active_shifts, 1.0);
    EXPECT_LT(report.mean_active_shifts, double(shifts.size()));
    for (size_t k = 0; k < shifts.size(); ++k)
      for (int r = 0; r < 3; ++r) {
        const double residual = residual_of(*A, shifts[k], x[k], b, r);
        EXPECT_LE(residual, wanted * (1 + 1e-3)) << "shift " << shifts[k];
        EXPECT_NEAR(report.relative_residual[3 * k + size_t(r)], residual, 1e-14);
      }
  }
  std::vector<SpinorField> x = solutions(*A, 2, 1);
  MultiShiftSpec half{1e-8};
  half.precision = Precision::half_precision;
  EXPECT_THROW(multi_shift_cg(A, {0.1, 1.0}, x, test::random_source(*A, 1), half), BadArgument);
}

/// Where solve() would take one column at a time, the columns that finish a solve still keep their own
/// shifts.
TEST(MultiShiftCg, single_precision_inside_on_fields_larger_than_a_batch) {
  const LatticePtr lattice = make_lattice({8, 8, 8, 8});
  const auto A = test::make_positive(lattice, 30);
  ASSERT_EQ(columns_per_batch(*A->converted(Precision::single_precision)), 1);
  const SpinorField b = test::random_source(*A, 2);
  const std::vector<double> three{0.02, 3.0, 0.5};
  std::vector<SpinorField> x = solutions(*A, three.size(), 2);
  MultiShiftSpec spec{1e-10};
  spec.precision = Precision::single_precision;
  const SolveReport report = multi_shift_cg(A, three, x, b, spec);
  EXPECT_TRUE(report.converged) << report.summary();
  for (size_t k = 0; k < three.size(); ++k)
    for (int r = 0; r < 2; ++r)
      EXPECT_LE(residual_of(*A, three[k], x[k], b, r), 1e-10 * (1 + 1e-3)) << "shift " << three[k];
}

/// The bits of a right-hand side depend neither on the others nor on the lanes.
TEST(MultiShiftCg, same_bits_alone_and_for_every_lane_count) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 8});
  std::vector<test::Vector> expected;
  for (const int lanes : {1, 4, 8, 16}) {
    const auto A = test::make_positive(lattice, 50, {.lanes = lanes});
    for (const int rhs : {1, 2}) {
      std::vector<SpinorField> x = solutions(*A, 2, rhs);
      ASSERT_TRUE(multi_shift_cg(A, {0.01, 1.0}, x, test::random_source(*A, rhs), {1e-9}).converged);
      const std::vector<test::Vector> found{test::canonical_vector(x[0], 0), test::canonical_vector(x[1], 0)};
      if (expected.empty()) expected = found;
      EXPECT_TRUE(found == expected) << lanes << " lanes, " << rhs << " right-hand sides";
    }
  }
}

TEST(MultiShiftCg, honest_when_it_does_not_converge) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const auto A = test::make_positive(lattice, 200);
  const SpinorField b = test::random_source(*A, 1);
  std::vector<SpinorField> x = solutions(*A, 2, 1);
  const SolveReport few = multi_shift_cg(A, {0.001, 50.0}, x, b, {tolerance, 10});
  EXPECT_FALSE(few.converged);
  EXPECT_EQ(few.reason, StopReason::max_iterations);
  EXPECT_GT(few.relative_residual[0], 1e-4);
  EXPECT_LE(few.relative_residual[1], tolerance);
  // A - 2 is negative: the recursion refuses it, and so does the solve of its own.
  const SolveReport negative = multi_shift_cg(A, {-2.0, 1.0}, x, b, {tolerance});
  EXPECT_FALSE(negative.converged);
  EXPECT_EQ(negative.reason, StopReason::broke_down);
  // Below the rounding of A x nothing converges.
  const SolveReport too_far = multi_shift_cg(A, {0.001, 1.0}, x, b, {1e-17, 3000});
  EXPECT_FALSE(too_far.converged);
  EXPECT_EQ(too_far.reason, StopReason::stagnated) << too_far.summary();
  EXPECT_LT(too_far.largest_residual(), 1e-14);
}

TEST(MultiShiftCg, zero_source_and_bad_input) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const auto A = test::make_positive(lattice, 20), D = test::make_disc(lattice, 0.5);
  std::vector<SpinorField> x = solutions(*A, 2, 1);
  SpinorField b = A->make_field(1);
  const SolveReport zero = multi_shift_cg(A, {0.1, 1.0}, x, b, {});
  EXPECT_TRUE(zero.converged);
  EXPECT_EQ(zero.reason, StopReason::zero_source);
  EXPECT_EQ(norm2(x[0]) + norm2(x[1]), 0.0);
  auto values = test::canonical_vector(b, 0);
  values[0] = std::numeric_limits<double>::quiet_NaN();
  test::set_canonical(b, values, 0);
  EXPECT_THROW(multi_shift_cg(A, {0.1, 1.0}, x, b, {}), NumericError);
  const SpinorField good = test::random_source(*A, 1);
  EXPECT_THROW(multi_shift_cg(D, {0.1, 1.0}, x, good, {}), BadArgument);
  EXPECT_THROW(multi_shift_cg(nullptr, {0.1, 1.0}, x, good, {}), BadArgument);
  EXPECT_THROW(multi_shift_cg(A, {0.1}, x, good, {}), BadArgument);
  EXPECT_THROW(multi_shift_cg(A, {0.1, std::numeric_limits<double>::infinity()}, x, good, {}), BadArgument);
  EXPECT_THROW(multi_shift_cg(A, {0.1, 1.0}, x, good, {.tolerance = 0}), BadArgument);
}

}  // namespace in_test_solver_multi_shift
}  // namespace trellis
