/// Every solver meets known inverses: solutions, true residuals, reasons to stop and bad input are tested.
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/solver_test_operators.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_solver_methods {

using test::KnownOperator;

/// This struct holds a solver and an operator that it must solve.
struct Case {
  const char* name;
  SolverSpec spec;
  std::shared_ptr<const KnownOperator> (*make)(const LatticePtr&);
  double condition;
};

std::shared_ptr<const KnownOperator> positive(const LatticePtr& l) { return test::make_positive(l, 50.0); }
std::shared_ptr<const KnownOperator> disc(const LatticePtr& l) { return test::make_disc(l, 0.7); }
std::shared_ptr<const KnownOperator> general(const LatticePtr& l) { return test::make_general(l, 20.0); }

constexpr double tolerance = 1e-10;
MixedPrecisionSpec mixed(const SolverSpec& inner, Precision precision) { return {inner, precision, 0}; }

GcrSpec one_sum(GcrSpec spec) {
  spec.has_one_sum = true;
  return spec;
}

const Case cases[] = {
    {"cg", CgSpec{tolerance, 2000}, positive, 50},
    {"cg_normal", CgSpec{tolerance, 2000}, general, 20},
    {"bicgstab", BicgstabSpec{tolerance, 2000}, disc, 6},
    {"gcr", GcrSpec{tolerance, 2000, 8}, disc, 6},
    {"gcr_one_sum", one_sum(GcrSpec{tolerance, 2000, 8}), disc, 6},
    {"mr", MrSpec{tolerance, 2000}, disc, 6},
    {"mr_relaxed", MrSpec{tolerance, 2000, 0.85}, disc, 6},
    {"cg_single", mixed(CgSpec{tolerance, 2000}, Precision::single_precision), positive, 50},
    {"cg_half", mixed(CgSpec{tolerance, 2000}, Precision::half_precision), positive, 50},
    {"cg_fp16", mixed(CgSpec{tolerance, 2000}, Precision::fp16_precision), positive, 50},
    {"cg_normal_fp16", mixed(CgSpec{tolerance, 2000}, Precision::fp16_precision), general, 20},
    {"bicgstab_fp16", mixed(BicgstabSpec{tolerance, 2000}, Precision::fp16_precision), disc, 6},
    {"gcr_fp16", mixed(GcrSpec{tolerance, 2000, 8}, Precision::fp16_precision), disc, 6},
    {"mr_fp16", mixed(MrSpec{tolerance, 2000}, Precision::fp16_precision), disc, 6},
    {"cg_normal_single", mixed(CgSpec{tolerance, 2000}, Precision::single_precision), general, 20},
    {"cg_normal_half", mixed(CgSpec{tolerance, 2000}, Precision::half_precision), general, 20},
    {"bicgstab_single", mixed(BicgstabSpec{tolerance, 2000}, Precision::single_precision), disc, 6},
    {"bicgstab_half", mixed(BicgstabSpec{tolerance, 2000}, Precision::half_precision), disc, 6},
    {"gcr_single", mixed(GcrSpec{tolerance, 2000, 8}, Precision::single_precision), disc, 6},
    {"gcr_one_sum_single", mixed(one_sum(GcrSpec{tolerance, 2000, 8}), Precision::single_precision), disc, 6},
    {"gcr_half", mixed(GcrSpec{tolerance, 2000, 8}, Precision::half_precision), disc, 6},
    {"mr_half", mixed(MrSpec{tolerance, 2000}, Precision::half_precision), disc, 6},
};

class SolverTest : public ::testing::TestWithParam<Case> {
 protected:
  LatticePtr lattice = make_lattice({4, 2, 2, 6});
  std::shared_ptr<const KnownOperator> A = GetParam().make(lattice);
};

TEST_P(SolverTest, many_right_hand_sides) {
  for (const int rhs : {1, 3}) {
    const SpinorField b = test::random_source(*A, rhs);
    SpinorField x = A->make_field(rhs);
    const SolveReport report = solve(GetParam().spec, *A, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    EXPECT_EQ(report.reason, StopReason::converged);
    EXPECT_GT(report.iterations, 2);
    EXPECT_GT(report.cost.flops, report.iterations * A->cost(1).flops);
    EXPECT_GT(report.cost.bytes, report.iterations * A->cost(rhs).bytes);
    EXPECT_GT(report.seconds, 0);
    ASSERT_EQ(int(report.relative_residual.size()), rhs);
    for (int r = 0; r < rhs; ++r) {
      const double residual = test::residual_of(*A, x, b, r);
      EXPECT_LE(residual, tolerance * (1 + 1e-4));
      // Both have the rounding of A x: a few epsilon.
      EXPECT_NEAR(report.relative_residual[size_t(r)], residual, 1e-14);
      EXPECT_LE(test::relative_error_of(*A, x, b, r), GetParam().condition * tolerance);
    }
  }
}

TEST_P(SolverTest, zero_source_among_others) {
  const SpinorField some = test::random_source(*A, 3);
  SpinorField b = some, x = test::random_source(*A, 3, 77);
  combine(b, Coefficients{1, 0, 1}, some, Coefficients{0, 0, 0}, some);
  const SolveReport report = solve(GetParam().spec, *A, x, b);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_EQ(report.relative_residual[1], 0.0);
  const Coefficients norms = norm2_each(x);
  EXPECT_EQ(norms[1], 0.0);
  for (const int r : {0, 2}) EXPECT_LE(test::residual_of(*A, x, b, r), tolerance * (1 + 1e-4));
}

TEST_P(SolverTest, zero_source_alone_gives_zero_from_any_guess) {
  const SpinorField b = A->make_field(2);
  SpinorField x = test::random_source(*A, 2, 77);
  const SolveReport report = solve(GetParam().spec, *A, x, b);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.reason, StopReason::zero_source);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(norm2(x), 0.0);
}

TEST_P(SolverTest, converged_guess_takes_no_iterations_and_keeps_its_bits) {
  const SpinorField b = test::random_source(*A, 2);
  SpinorField x = A->make_field(2);
  ASSERT_TRUE(solve(GetParam().spec, *A, x, b).converged);
  const auto before = test::canonical_vector(x, 1);
  const SolveReport report = solve(GetParam().spec, *A, x, b);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(test::canonical_vector(x, 1), before);
}

TEST_P(SolverTest, good_guess_saves_iterations) {
  const SpinorField b = test::random_source(*A, 1);
  SpinorField cold = A->make_field(1), x = A->make_field(1);
  const SolveReport from_zero = solve(GetParam().spec, *A, cold, b);
  combine(x, 1.0, cold, 1e-7, b);
  const SolveReport report = solve(GetParam().spec, *A, x, b);
  EXPECT_TRUE(report.converged);
  EXPECT_LT(report.iterations, from_zero.iterations);
  EXPECT_GT(report.iterations, 0);
}

TEST_P(SolverTest, iterations_run_out_with_an_honest_residual) {
  SolveLimits limits = GetParam().spec.limits();
  limits.max_iterations = 3;
  const SolverSpec spec = GetParam().spec.limited(limits).with_history();
  const SpinorField b = test::random_source(*A, 2);
  SpinorField x = A->make_field(2);
  const SolveReport report = solve(spec, *A, x, b);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.reason, StopReason::max_iterations);
  EXPECT_EQ(report.iterations, 3);
  ASSERT_EQ(report.history.size(), 3u);
  for (int r = 0; r < 2; ++r) {
    EXPECT_NEAR(report.relative_residual[size_t(r)], test::residual_of(*A, x, b, r), 1e-14);
    EXPECT_GT(report.relative_residual[size_t(r)], tolerance);
    EXPECT_LT(report.relative_residual[size_t(r)], 1.0);
  }
}

TEST_P(SolverTest, sources_of_any_size) {
  for (const double size : {1e-300, 1e-160, 1e-60, 1e60, 1e160}) {
    SpinorField b = test::random_source(*A, 1);
    scale(b, size, b);
    SpinorField x = A->make_field(1);
    const SolveReport report = solve(GetParam().spec, *A, x, b);
    EXPECT_TRUE(report.converged) << size << " " << report.summary();
    EXPECT_LE(relative_residual(*A, x, b)[0], tolerance * (1 + 1e-4));
    const double unit = 1 / size;  // the reference sums squares
    scale(x, unit, x);
    scale(b, unit, b);
    EXPECT_LE(test::residual_of(*A, x, b, 0), tolerance * (1 + 1e-4));
  }
}

TEST_P(SolverTest, not_finite_input_is_named) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity}) {
    const SpinorField good = test::random_source(*A, 2);
    auto values = test::canonical_vector(good, 1);
    values[17] = bad;
    SpinorField broken = good;
    test::set_canonical(broken, values, 1);
    SpinorField x = A->make_field(2);
    try {
      solve(GetParam().spec, *A, x, broken);
      FAIL() << "no exception for a source with " << bad;
    } catch (const NumericError& e) {
      EXPECT_NE(std::string(e.what()).find("source has a NaN or Inf in right-hand side 1"),
                std::string::npos);
    }
    EXPECT_THROW(solve(GetParam().spec, *A, broken, good), NumericError);
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, SolverTest, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

/// This operator multiplies by a constant, or by NaN after some applications.
class Scaling final : public LinearOperator {
 public:
  Scaling(LatticePtr lattice, double factor, bool hermitian, int good_applications = 1 << 30)
      : lattice_{std::move(lattice)}, factor_{factor}, hermitian_{hermitian}, good_{good_applications} {}
  bool is_hermitian() const override { return hermitian_; }
  FieldSpec domain(int columns = 1) const override { return {.rhs = columns}; }
  const LatticePtr& domain_lattice() const override { return lattice_; }
  Cost cost(int) const override { return {}; }
  LinearOperatorPtr converted(Precision) const override { throw NotAvailable("Scaling is double only"); }
  std::string name() const override { return "scaling"; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool, ColumnSums&) const override {
    const bool is_good = good_-- > 0;
    scale(out, is_good ? factor_ : std::numeric_limits<double>::quiet_NaN(), in);
  }
  LatticePtr lattice_;
  double factor_;
  bool hermitian_;
  mutable int good_;
};

TEST(SolverBreakdown, zero_and_negative_operators) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const SolverSpec specs[] = {CgSpec{}, BicgstabSpec{}, GcrSpec{}, MrSpec{}};
  const Scaling zero(lattice, 0.0, false), negative(lattice, -1.0, true);
  const SpinorField b = test::random_source(zero, 2);
  for (const SolverSpec& spec : specs) {
    SpinorField x = zero.make_field(2);
    const SolveReport report = solve(spec, zero, x, b);
    EXPECT_FALSE(report.converged);
    EXPECT_EQ(report.reason, StopReason::broke_down) << report.summary();
    for (const double r : report.relative_residual) EXPECT_NEAR(r, 1.0, 1e-15);
    EXPECT_EQ(norm2(x), 0.0);
  }
  SpinorField x = negative.make_field(2);
  EXPECT_EQ(solve(CgSpec{}, negative, x, b).reason, StopReason::broke_down);  // it is not positive
  EXPECT_TRUE(solve(BicgstabSpec{}, negative, x, b).converged);               // but it is regular
}

TEST(SolverBreakdown, not_finite_operator) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  for (const SolverSpec& spec : {SolverSpec(CgSpec{}), SolverSpec(BicgstabSpec{}), SolverSpec(GcrSpec{}),
                                 SolverSpec(MrSpec{.relaxation = 0.5})}) {
    for (const int good : {0, 1}) {
      const Scaling A(lattice, 2.0, false, good);
      const SpinorField b = test::random_source(A, 1);
      SpinorField x = A.make_field(1);
      const SolveReport report = solve(spec, A, x, b);
      EXPECT_FALSE(report.converged);
      EXPECT_EQ(report.reason, StopReason::not_finite) << report.summary() << " after " << good;
      EXPECT_TRUE(std::isnan(report.largest_residual()));
      EXPECT_TRUE(std::isfinite(norm2(x)));
    }
  }
}

/// Rounding keeps the true residual above 1e-17: a solver says so instead of repeating what its recursion
/// claims.
TEST(SolverBreakdown, unreachable_tolerance_stagnates) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const auto A = test::make_positive(lattice, 50), D = test::make_disc(lattice, 0.7);
  const SpinorField b = test::random_source(*A, 2);
  const std::pair<SolverSpec, const KnownOperator*> solvers[] = {
      {CgSpec{1e-17, 5000}, A.get()},
      {BicgstabSpec{1e-17, 5000}, D.get()},
      {GcrSpec{1e-17, 5000}, D.get()},
      {MixedPrecisionSpec{CgSpec{1e-17, 5000}}, A.get()}};
  for (auto [spec, op] : solvers)
    for (const double tolerance : {1e-17, 1e-200}) {
      SpinorField x = op->make_field(2);
      spec = spec.with_tolerance(tolerance);
      const SolveReport report = solve(spec, *op, x, b);
      EXPECT_FALSE(report.converged);
      EXPECT_EQ(report.reason, StopReason::stagnated) << report.summary();
      EXPECT_LT(report.largest_residual(), 1e-14);
      EXPECT_NEAR(report.largest_residual(),
                  std::max(test::residual_of(*op, x, b, 0), test::residual_of(*op, x, b, 1)), 1e-14);
      EXPECT_LT(report.iterations, 5000);
    }
}

TEST(SolverRefusals, preconditions) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const auto A = test::make_positive(lattice, 5), D = test::make_disc(lattice, 0.5);
  const SpinorField b = test::random_source(*A, 1);
  SpinorField x = A->make_field(1), two = A->make_field(2), odd(lattice, FieldSpec{.subset = Subset::odd});
  EXPECT_THROW(ConjugateGradient(*D, 1, CgForm::hermitian, false), BadArgument);
  EXPECT_THROW(solve(CgSpec{.tolerance = 0}, *A, x, b), BadArgument);
  EXPECT_THROW(solve(CgSpec{.tolerance = 1}, *A, x, b), BadArgument);
  EXPECT_THROW(solve(CgSpec{.max_iterations = 0}, *A, x, b), BadArgument);
  EXPECT_THROW(solve(GcrSpec{.restart_length = 0}, *A, x, b), BadArgument);
  EXPECT_THROW(solve(MrSpec{.relaxation = 2}, *A, x, b), BadArgument);
  EXPECT_THROW(solve(CgSpec{}, *A, two, b), BadArgument);
  EXPECT_THROW(solve(CgSpec{}, *A, odd, odd), BadArgument);
  EXPECT_THROW(solve(MixedPrecisionSpec{.update_threshold = 1}, *A, x, b), BadArgument);
  EXPECT_THROW(OperatorCopies(*A).provide(D->converted(Precision::single_precision)), BadArgument);
  const auto low = A->converted(Precision::single_precision);
  SpinorField low_x = low->make_field(1);
  const SpinorField low_b = low->make_field(1);
  EXPECT_THROW(solve(CgSpec{}, *low, low_x, low_b), BadArgument);
  EXPECT_THROW(NormalOperator(nullptr), BadArgument);
}

/// In 16 bits a pass over all columns would round the waiting ones again.
TEST(WaitingColumns, keep_their_numbers_and_the_copies_are_booked) {
  const auto A = test::make_positive(make_lattice({4, 2, 2, 6}), 5);
  for (const Precision precision : {Precision::half_precision, Precision::single_precision}) {
    const auto low = A->converted(precision);
    SpinorField x = low->make_field(3), direction = low->make_field(3), alone = low->make_field(1);
    convert(x, test::random_source(*A, 3, 5));
    convert(direction, test::random_source(*A, 3, 6));
    copy_columns(alone, 0, x, 1, 1);
    const double before = norm2(alone);
    SolveProgress progress(3, 10, false, 1e-3);
    add_to_active(x, Coefficients{0.25, 0, 0.125}, direction, progress);
    copy_columns(alone, 0, x, 1, 1);
    EXPECT_EQ(norm2(alone), before);
    const double field = cost_of_passes(alone.lattice(), alone.spec(), 1, 0, 0, 0).bytes;
    EXPECT_EQ(progress.cost.bytes, is_16_bit(precision) ? 4 * field : 0)
        << "read and written, there and back";
    add_to_active(x, Coefficients{0.25, 1, 0.125}, direction, progress);
    EXPECT_EQ(progress.cost.bytes, is_16_bit(precision) ? 4 * field : 0) << "no column waits";
  }
}

TEST(SolverReports, names_what_was_done) {
  const LatticePtr lattice = make_lattice({2, 2, 2, 4});
  const auto A = test::make_positive(lattice, 5), D = test::make_disc(lattice, 0.5);
  const SpinorField b = test::random_source(*A, 1);
  const auto method = [&](const SolverSpec& spec, const KnownOperator& op) {
    SpinorField x = op.make_field(1);
    return solve(spec, op, x, b).method;
  };
  EXPECT_EQ(method(CgSpec{}, *A), "cg");
  EXPECT_EQ(method(CgSpec{}, *D), "cg on the normal equations");
  EXPECT_EQ(method(GcrSpec{.restart_length = 5}, *D), "gcr(5)");
  EXPECT_EQ(method(MixedPrecisionSpec{CgSpec{}, Precision::half_precision}, *D),
            "cg on the normal equations, half inside");
}

}  // namespace in_test_solver_methods
}  // namespace trellis
