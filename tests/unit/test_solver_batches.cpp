/// Right-hand sides are solved in batches: columns keep their bits, and one report tells of all.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/batches.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_solver_batches {

const Coord extents{4, 4, 2, 4};

void fill(SpinorField& f, int column, int number) {
  test::to_product(f, test::random_spinors(extents, uint64_t(100 + number)), column);
}

TEST(Columns, are_copied_in_every_layout_and_storage) {
  const LatticePtr lattice = make_lattice(extents);
  for (const Backend backend : {Backend::cpu, Backend::gpu_emulated})
    for (const Precision precision : all_precisions)
      for (const Subset subset : {Subset::full, Subset::odd}) {
        FieldSpec spec{precision, subset, 3, 24, backend, 0};
        SpinorField in(lattice, spec);
        for (int i = 0; i < 3; ++i) fill(in, i, i);
        spec.rhs = 4;
        SpinorField out(lattice, spec);
        copy_columns(out, 2, in, 1, 2);
        EXPECT_EQ(test::canonical_part(out, 2), test::canonical_part(in, 1));
        EXPECT_EQ(test::canonical_part(out, 3), test::canonical_part(in, 2));
        EXPECT_EQ(norm2_each(out)[0], 0.0);
        EXPECT_EQ(norm2_each(out)[1], 0.0);
        EXPECT_GT(norm2_each(out)[3], 1.0);
        EXPECT_THROW(copy_columns(out, 3, in, 1, 2), BadArgument);
        EXPECT_THROW(copy_columns(out, 0, in, 2, 2), BadArgument);
      }
}

TEST(Batches, columns_have_the_same_bits_in_any_batch) {
  const LatticePtr lattice = make_lattice(extents);
  WilsonParams params;
  params.mass = 0.2;
  const auto matrix = std::make_shared<WilsonMatrix>(
      test::to_product(lattice, test::random_gauge(extents, 3)), params, KernelChoice{});
  const WilsonSchur S(matrix, SchurForm::symmetric);
  const int rhs = 5;
  SpinorField b = S.make_field(rhs);
  for (int i = 0; i < rhs; ++i) fill(b, i, i % 4);
  const auto solve_with = [&](int size, SpinorField& x) {
    return solve_in_batches(size, x, b, [&](SpinorField& part_x, const SpinorField& part_b) {
      return solve(CgSpec{.tolerance = 1e-8, .records_history = true}, S, part_x, part_b);
    });
  };
  SpinorField all = S.make_field(rhs);
  const SolveReport expected = solve_with(rhs, all);
  ASSERT_TRUE(expected.converged);
  for (const int size : {1, 2, 3, 12}) {
    SpinorField x = S.make_field(rhs);
    const SolveReport found = solve_with(size, x);
    for (int i = 0; i < rhs; ++i)
      EXPECT_EQ(test::canonical_part(x, i), test::canonical_part(all, i)) << "batch " << size;
    EXPECT_TRUE(found.converged);
    EXPECT_EQ(found.reason, StopReason::converged);
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(found.relative_residual, expected.relative_residual);
    EXPECT_EQ(found.history, expected.history);
  }
  EXPECT_GE(columns_per_batch(S), 12);  // a small lattice takes all of them
}

TEST(Batches, report_the_worst_reason_and_all_residuals) {
  SpinorField b(make_lattice(extents), {.subset = Subset::even, .rhs = 3}), x = SpinorField::like(b);
  int calls = 0;
  const auto report = [&](StopReason reason) {
    SolveReport r;
    r.reason = reason;
    r.converged = reason == StopReason::converged || reason == StopReason::zero_source;
    r.relative_residual = {0.1 * ++calls};
    r.iterations = 10 - calls;
    r.cost.flops = 1;
    return r;
  };
  const auto run = [&](StopReason first, StopReason second, StopReason third) {
    calls = 0;
    const std::vector<StopReason> reasons{first, second, third};
    return solve_in_batches(1, x, b,
                            [&](SpinorField&, const SpinorField&) { return report(reasons[size_t(calls)]); });
  };
  const SolveReport bad = run(StopReason::converged, StopReason::stagnated, StopReason::max_iterations);
  EXPECT_FALSE(bad.converged);
  EXPECT_EQ(bad.reason, StopReason::stagnated);
  EXPECT_EQ(bad.relative_residual.size(), 3u);
  EXPECT_EQ(bad.iterations, 9);
  EXPECT_EQ(bad.cost.flops, 3.0);
  const SolveReport zero = run(StopReason::zero_source, StopReason::zero_source, StopReason::zero_source);
  EXPECT_TRUE(zero.converged);
  EXPECT_EQ(zero.reason, StopReason::zero_source);
  const SolveReport mixed = run(StopReason::zero_source, StopReason::converged, StopReason::zero_source);
  EXPECT_EQ(mixed.reason, StopReason::converged);
  EXPECT_THROW(solve_in_batches(0, x, b, [](SpinorField&, const SpinorField&) { return SolveReport{}; }),
               BadArgument);
}

}  // namespace in_test_solver_batches
}  // namespace trellis
