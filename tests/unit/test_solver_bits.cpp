// sanitize: 0
/// Bits of solutions do not depend on the batch, on threads and on lanes; mixed precision reaches its
/// tolerance.
#include <gtest/gtest.h>

#include "tests/support/column_sums.hpp"
#include "tests/unit/solver_test_operators.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {
namespace in_test_solver_bits {

struct Case {
  const char* name;
  SolverSpec spec;
  bool is_hermitian;
};
const Case cases[] = {
    {"cg", CgSpec{1e-9}, true},
    {"cg_normal", CgSpec{1e-9}, false},
    {"bicgstab", BicgstabSpec{1e-9}, false},
    {"gcr", GcrSpec{1e-9, 1000, 6}, false},
    {"gcr_one_sum", GcrSpec{.tolerance = 1e-9, .restart_length = 6, .has_one_sum = true}, false},
    {"gcr_of_gcr",
     GcrSpec{.tolerance = 1e-9,
             .restart_length = 6,
             .preconditioner = GcrSpec{.tolerance = 0.1, .max_iterations = 8, .has_one_sum = true}},
     false},
    {"mr", MrSpec{1e-9}, false},
    {"bicgstab_single", MixedPrecisionSpec{BicgstabSpec{1e-9}}, false},
    {"cg_half", MixedPrecisionSpec{CgSpec{1e-9}, Precision::half_precision}, true},
    {"cg_fp16", MixedPrecisionSpec{CgSpec{1e-9}, Precision::fp16_precision}, true},
    {"cg_normal_single", MixedPrecisionSpec{CgSpec{1e-9}}, false},
    {"bicgstab_half", MixedPrecisionSpec{BicgstabSpec{1e-9}, Precision::half_precision}, false}};

class SolverBits : public ::testing::TestWithParam<Case> {
 protected:
  LatticePtr lattice = make_lattice({4, 4, 4, 8});
  std::shared_ptr<const test::KnownOperator> make(FieldSpec spec) const {
    return GetParam().is_hermitian ? test::make_positive(lattice, 30, spec)
                                   : test::make_disc(lattice, 0.6, spec);
  }
  /// Returns the solutions of two right-hand sides, one after the other.
  test::Vector solution(FieldSpec spec, int threads) const {
    set_thread_count(threads);
    const auto A = make(spec);
    const SpinorField b = test::random_source(*A, 2);
    SpinorField x = A->make_field(2);
    EXPECT_TRUE(solve(GetParam().spec, *A, x, b).converged);
    set_thread_count(1);
    test::Vector both = test::canonical_vector(x, 0);
    const test::Vector second = test::canonical_vector(x, 1);
    both.insert(both.end(), second.begin(), second.end());
    return both;
  }
};

TEST_P(SolverBits, same_for_threads_lanes_and_gpu_layout) {
  const test::Vector expected = solution({.lanes = 1}, 1);
  EXPECT_EQ(solution({.lanes = 1}, 2), expected) << "2 threads";
  for (const int lanes : {4, 8, 16}) EXPECT_EQ(solution({.lanes = lanes}, 1), expected) << lanes << " lanes";
  EXPECT_EQ(solution({.backend = Backend::gpu_emulated}, 1), expected) << "GPU layout";
}

/// Every solver treats each right-hand side as if it were alone; but the reliable updates of CG in mixed
/// precision are made for all at a time.
TEST_P(SolverBits, same_alone_and_in_a_batch) {
  const auto storage = GetParam().spec->storage();
  const bool is_cg = std::string(GetParam().name).starts_with("cg");
  const bool has_equal_bits = !storage || !is_cg;
  const auto A = make({});
  SpinorField b = test::random_source(*A, 3), x = A->make_field(3);
  // The second column is solved sooner: it is nearly an eigenvector.
  test::Vector easy(size_t(lattice->volume()) * 12, 1e-9);
  easy[3] = 1;
  A->matrix().apply(easy, test::ReflectedDiagonal::Power::inverse);
  test::set_canonical(b, easy, 1);
  const SolveReport together = solve(GetParam().spec, *A, x, b);
  ASSERT_TRUE(together.converged);
  for (int r = 0; r < 3; ++r) {
    SpinorField one = A->make_field(1), x_one = A->make_field(1);
    test::set_canonical(one, test::canonical_vector(b, r), 0);
    ASSERT_TRUE(solve(GetParam().spec, *A, x_one, one).converged);
    if (has_equal_bits) {
      EXPECT_EQ(test::canonical_vector(x_one, 0), test::canonical_vector(x, r)) << "source " << r;
    } else {
      EXPECT_LE(test::residual_of(*A, x, b, r), 1e-9 * (1 + 1e-4));
    }
  }
}

/// Columns that are done leave the batch: hop, preconditioner and Gram-Schmidt take the others alone.
TEST(Gcr, a_batch_costs_no_more_than_its_columns_alone) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 8});
  const auto A = test::make_disc(lattice, 0.6);
  SpinorField b = test::random_source(*A, 4), x = A->make_field(4);
  for (const int easy_column : {1, 2}) {  // both are eigenvectors, solved for in a step
    test::Vector easy(size_t(lattice->volume()) * 12);
    easy[size_t(easy_column)] = 1;
    test::reflect(easy, A->matrix().left);
    test::set_canonical(b, easy, easy_column);
  }
  const SolverSpec specs[] = {
      GcrSpec{1e-9, 1000, 12},
      GcrSpec{.tolerance = 1e-9, .preconditioner = GcrSpec{.tolerance = 0.1, .has_one_sum = true}}};
  for (const SolverSpec& spec : specs) {
    const OperatorCopies copies(*A);
    set_zero(x);
    const SolveReport together = spec->solve(copies, x, b);  // they are one batch
    double alone = 0, most = 0;
    for (int r = 0; r < 4; ++r) {
      SpinorField one = A->make_field(1), x_one = A->make_field(1);
      test::set_canonical(one, test::canonical_vector(b, r), 0);
      const double flops = spec->solve(copies, x_one, one).cost.flops;
      alone += flops;
      most = std::max(most, flops);
    }
    EXPECT_TRUE(together.converged);
    EXPECT_LT(alone, 0.75 * 4 * most) << "columns take different times";
    EXPECT_LT(together.cost.flops, 1.1 * alone) << spec->name(*A);
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, SolverBits, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Where rounding adds little, the residual is recomputed seldom; a threshold that is asked for is kept.
TEST(MixedPrecision, updates_follow_what_rounding_adds) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 4});
  const auto A = test::make_general(lattice, 3);
  const SpinorField b = test::random_source(*A, 1);
  for (const Precision precision :
       {Precision::single_precision, Precision::half_precision, Precision::fp16_precision}) {
    SpinorField x = A->make_field(1);
    MixedPrecisionSpec spec{CgSpec{1e-11}, precision};
    const SolveReport adapted = solve(spec, *A, x, b);
    spec.update_threshold = 0.1;
    set_zero(x);
    const SolveReport fixed = solve(spec, *A, x, b);
    EXPECT_TRUE(adapted.converged && fixed.converged) << name_of(precision);
    EXPECT_LT(adapted.reliable_updates, fixed.reliable_updates - 2) << name_of(precision);
    EXPECT_LE(adapted.iterations, fixed.iterations + 2) << name_of(precision);
  }
}

/// fp16 rounds to 2^-11: convergence is slower where the condition is bad, and still to the tolerance.
TEST(MixedPrecision, fp16_reaches_double_too) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  for (const double size : {1e-30, 1.0, 1e30}) {  // this is the size of the source: fp16 ends at 65504
    const auto A = test::make_general(lattice, 30);
    SpinorField b = test::random_source(*A, 2), x = A->make_field(2);
    scale(b, size, b);
    const SolveReport in_double = solve(CgSpec{1e-10}, *A, x, b);
    set_zero(x);
    const SolveReport report =
        solve(MixedPrecisionSpec{CgSpec{1e-10, 20000, true}, Precision::fp16_precision}, *A, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    for (int r = 0; r < 2; ++r) EXPECT_LE(test::residual_of(*A, x, b, r), 1e-10 * (1 + 1e-4));
    EXPECT_LE(report.iterations, 1.5 * in_double.iterations) << report.summary();
    ASSERT_EQ(int(report.history.size()), report.iterations);
    EXPECT_LT(report.history.front(), 1.01) << "in units of the source";
    EXPECT_LT(report.history.back(), 1e-9);
  }
}

/// The operator that CG sees has a condition number of 10^4: it is A itself, or A^dagger A with A of 10^2.
/// Double is the measure for the number of iterations.
TEST(MixedPrecision, reaches_double_on_ill_conditioned_operators) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  const auto A = test::make_positive(lattice, 1e4), G = test::make_general(lattice, 100);
  for (const auto& op : {A, G}) {
    const SpinorField b = test::random_source(*op, 2);
    SpinorField x = op->make_field(2);
    const SolveReport in_double = solve(CgSpec{1e-10, 20000}, *op, x, b);
    ASSERT_TRUE(in_double.converged) << in_double.summary();
    for (const Precision precision : {Precision::single_precision, Precision::half_precision}) {
      set_zero(x);
      const SolveReport report = solve(MixedPrecisionSpec{CgSpec{1e-10, 20000}, precision}, *op, x, b);
      EXPECT_TRUE(report.converged) << report.summary();
      EXPECT_GE(report.reliable_updates, precision == Precision::half_precision ? 5 : 3);
      for (int r = 0; r < 2; ++r) {
        EXPECT_LE(test::residual_of(*op, x, b, r), 1e-10 * (1 + 1e-4));
        EXPECT_LE(test::relative_error_of(*op, x, b, r), 1e4 * 1e-10);
      }
      EXPECT_LE(report.iterations, 1.5 * in_double.iterations) << report.summary();
    }
  }
}

/// What 16 bits cannot solve ends no farther from the source than it began, and early.
TEST(MixedPrecision, never_ends_worse_than_it_began) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  const auto A = test::make_positive(lattice, 1e9), G = test::make_general(lattice, 1e5);
  const std::pair<SolverSpec, const test::KnownOperator*> solves[] = {{CgSpec{1e-10, 400}, A.get()},
                                                                      {CgSpec{1e-10, 400}, G.get()},
                                                                      {BicgstabSpec{1e-10, 400}, G.get()},
                                                                      {GcrSpec{1e-10, 400, 8}, G.get()},
                                                                      {MrSpec{1e-10, 400}, G.get()}};
  for (const auto& [inner, op] : solves)
    for (const Precision precision : {Precision::half_precision, Precision::fp16_precision}) {
      const SpinorField b = test::random_source(*op, 2);
      SpinorField x = op->make_field(2);
      const SolveReport report = solve(MixedPrecisionSpec{inner, precision}, *op, x, b);
      EXPECT_LE(report.largest_residual(), 1 + 1e-12) << report.summary();
      for (int r = 0; r < 2; ++r)
        EXPECT_NEAR(report.relative_residual[size_t(r)], test::residual_of(*op, x, b, r), 1e-12);
    }
}

/// The normal operator is given as an operator: its energy is |A p|^2, and its own residual is what counts.
TEST(NormalOperatorTest, solves_and_agrees_with_the_factor) {
  const LatticePtr lattice = make_lattice({4, 2, 2, 4});
  const auto A = test::make_general(lattice, 8);
  const auto N = std::make_shared<NormalOperator>(A);
  const SpinorField b = test::random_source(*A, 2);
  SpinorField y = N->make_field(2), z = N->make_field(2), w = N->make_field(2);
  const Coefficients energy = test::apply_with_real_dot(*N, y, b);
  N->apply(z, b);
  EXPECT_EQ(test::canonical_vector(y, 1), test::canonical_vector(z, 1));
  const ComplexCoefficients direct = dot_each(b, y);
  for (size_t r = 0; r < 2; ++r) EXPECT_NEAR(energy[r], direct[r].real(), 1e-13 * energy[r]);

  SpinorField x = N->make_field(2);
  const SolveReport report = solve(CgSpec{1e-11}, *N, x, b);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.method, "cg");
  // (A^dagger A) x = b is solved as A^dagger (A x) = b in two known steps.
  A->apply(w, x);
  for (int r = 0; r < 2; ++r) {
    test::Vector image = test::canonical_vector(w, r);
    A->matrix().apply(image, test::ReflectedDiagonal::Power::dagger);
    const test::Vector source = test::canonical_vector(b, r);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < image.size(); ++i)
      difference += std::norm(image[i] - source[i]), norm += std::norm(source[i]);
    EXPECT_LE(std::sqrt(difference / norm), 1e-11 * (1 + 1e-3));
  }
  const SolveReport mixed = solve(MixedPrecisionSpec{CgSpec{1e-11}, Precision::half_precision}, *N, x, b);
  EXPECT_TRUE(mixed.converged) << mixed.summary();
  for (size_t r = 0; r < 2; ++r)  // the solver's residual is that of A x = b / |b|: a few roundings apart
    EXPECT_NEAR(relative_residual(*N, x, b)[r], mixed.relative_residual[r], 1e-15);
}

}  // namespace in_test_solver_bits
}  // namespace trellis
