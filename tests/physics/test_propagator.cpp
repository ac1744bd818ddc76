/// Propagators equal reference/ for every way of solving; canonical order, reports and memory are tested,
/// too.
#include <gtest/gtest.h>

#include "reference/sources.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/propagator.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"

namespace trellis {
namespace in_test_propagator {

const Coord extents{4, 2, 4, 6};
const Coord source_at{3, 0, 2, 5};

WilsonParams clover() {
  WilsonParams p;
  p.mass = 0.4;
  p.csw_spatial = p.csw_temporal = 1.0;
  return p;
}

struct SmallLattice {
  LatticePtr lattice = make_lattice(extents);
  reference::Gauge U = test::random_gauge(extents, 41, 1.0);
  WilsonMatrixPtr matrix =
      std::make_shared<WilsonMatrix>(test::to_product(lattice, U), clover(), KernelChoice{});
  reference::Propagator expected =
      reference::propagator(reference::WilsonOperator(U, reference::wilson_clover(0.4, 1.0)),
                            reference::point_source(extents, source_at));

  double error(const Propagator& S) const {
    double worst = 0;
    for (int c = 0; c < 12; ++c)
      worst = std::max(worst,
                       test::relative_error(test::to_reference(S.columns(), c), expected.columns[size_t(c)]));
    return worst;
  }
};

/// Returns the lattice, which is made once: the reference is slow.
const SmallLattice& small_lattice() {
  static const SmallLattice instance;
  return instance;
}

TEST(Propagator, equals_reference_for_every_form_and_solver) {
  const SmallLattice& s = small_lattice();
  const Source source = point_source(s.lattice, source_at);
  const SolverSpec solvers[] = {
      CgSpec{.tolerance = 1e-12}, BicgstabSpec{.tolerance = 1e-12},
      MixedPrecisionSpec{CgSpec{.tolerance = 1e-12}, Precision::single_precision},
      MixedPrecisionSpec{BicgstabSpec{.tolerance = 1e-12}, Precision::half_precision}};
  for (const SolverSpec& method : solvers)
    for (const SolverSpec& solver : {SolverSpec(EvenOddSpec{method, SchurForm::symmetric}),
                                     SolverSpec(EvenOddSpec{method, SchurForm::asymmetric}), method}) {
      const Propagator S = solve_propagator(s.matrix, solver, source);
      EXPECT_TRUE(S.report().converged) << S.report().summary();
      ASSERT_EQ(S.report().relative_residual.size(), 12u);
      EXPECT_LE(S.report().largest_residual(), 1e-12);
      EXPECT_GT(S.report().largest_residual(), 0.0);
      EXPECT_LT(s.error(S), 1e-10) << S.report().summary();
      EXPECT_EQ(S.source_at(), source_at);
    }
}

TEST(Propagator, report_tells_the_truth_when_iterations_run_out) {
  const SmallLattice& s = small_lattice();
  const Propagator S =
      solve_propagator(s.matrix, EvenOddSpec{CgSpec{.tolerance = 1e-12, .max_iterations = 3}},
                       point_source(s.lattice, source_at));
  EXPECT_FALSE(S.report().converged);
  EXPECT_GT(S.report().largest_residual(), 1e-6);
}

TEST(Propagator, canonical_order_is_sink_then_source_in_spin_then_colour) {
  const SmallLattice& s = small_lattice();
  const Propagator S =
      solve_propagator(s.matrix, EvenOddSpec{CgSpec{.tolerance = 1e-13}}, point_source(s.lattice, source_at));
  std::vector<std::complex<double>> array(Propagator::canonical_size(S.geometry()));
  S.to_canonical(array.data());
  double worst = 0;
  size_t at = 0;
  for (int64_t x = 0; x < s.U.volume(); ++x)
    for (int sink = 0; sink < 4; ++sink)
      for (int source = 0; source < 4; ++source)
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b, ++at)
            worst = std::max(worst, std::abs(array[at] - s.expected.entry(x, sink, a, source, b)));
  EXPECT_LT(worst, 1e-11);
  // It comes back bit for bit.
  const Propagator again = Propagator::from_canonical(s.lattice, array.data(), source_at, S.boundary());
  for (int c = 0; c < 12; ++c)
    EXPECT_EQ(test::canonical_part(again.columns(), c), test::canonical_part(S.columns(), c));
  const Propagator single = S.converted(Precision::single_precision);
  EXPECT_LT(s.error(single), test::rounding<float>(2));
  EXPECT_EQ(single.bytes() * 2, S.bytes());
}

/// The lattice is larger than those of the other tests, so that each solve sets a new peak of the process.
TEST(Propagator, memory_estimate_bounds_what_is_allocated) {
  const auto lattice = make_lattice({4, 4, 4, 8});
  const Geometry& g = lattice->geometry();
  const auto matrix = std::make_shared<WilsonMatrix>(
      test::to_product(lattice, test::random_gauge(lattice->extents(), 42, 0.5)), clover(), KernelChoice{});
  const size_t before_source = memory_in_use();
  const Source source = point_source(lattice, source_at);
  EXPECT_EQ(memory_in_use() - before_source, propagator_bytes(g));
  const SolverSpec on_M = CgSpec{.tolerance = 1e-6};
  for (const bool is_even_odd : {true, false}) {
    const Propagator S = solve_propagator(matrix, is_even_odd ? SolverSpec(EvenOddSpec{on_M}) : on_M, source);
    EXPECT_EQ(S.bytes(), propagator_bytes(g));
    const size_t used = memory_peak() - before_source, estimate = propagator_solve_bytes(g, is_even_odd);
    EXPECT_LE(used, estimate) << is_even_odd;
    EXPECT_GT(used, estimate * 6 / 10) << is_even_odd;
  }
}

/// The propagator solves D S_FH = Gamma S.
TEST(Propagator, as_source_of_feynman_hellmann) {
  const SmallLattice& s = small_lattice();
  const Propagator S =
      solve_propagator(s.matrix, EvenOddSpec{CgSpec{.tolerance = 1e-13}}, point_source(s.lattice, source_at));
  const GammaMatrix gamma = gamma_by_name("gamma_z gamma5");
  const Propagator F =
      solve_propagator(s.matrix, EvenOddSpec{CgSpec{.tolerance = 1e-13}}, propagator_as_source(S, gamma));
  reference::Propagator source = s.expected;
  for (auto& column : source.columns) column = reference::multiply(gamma, column);
  const auto expected =
      reference::propagator(reference::WilsonOperator(s.U, reference::wilson_clover(0.4, 1.0)), source);
  for (int c = 0; c < 12; ++c)
    EXPECT_LT(test::relative_error(test::to_reference(F.columns(), c), expected.columns[size_t(c)]), 1e-10);
  const Propagator rotated = S.multiplied(gamma);
  EXPECT_LT(test::relative_error(test::to_reference(rotated.columns(), 5), source.columns[5]), 1e-11);
}

TEST(Propagator, sink_smearing_equals_reference) {
  const SmallLattice& s = small_lattice();
  const Propagator S =
      solve_propagator(s.matrix, EvenOddSpec{CgSpec{.tolerance = 1e-13}}, point_source(s.lattice, source_at));
  const Propagator smeared = sink_smeared(S, test::to_product(s.lattice, s.U), {2.0, 5});
  const auto expected = reference::gaussian_smeared(s.U, s.expected, 2.0, 5);
  for (int c = 0; c < 12; ++c)
    EXPECT_LT(test::relative_error(test::to_reference(smeared.columns(), c), expected.columns[size_t(c)]),
              1e-11);
}

/// Half of the columns are zero: there is no NaN, and the other columns are as they were.
TEST(Propagator, zero_columns_stay_zero) {
  const SmallLattice& s = small_lattice();
  Source source = point_source(s.lattice, source_at);
  const std::vector<double> zero(size_t(s.lattice->geometry().local_volume()) * 24, 0.0);
  for (int c = 0; c < 12; c += 2) source.columns.from_canonical(zero.data(), c);
  const Propagator S = solve_propagator(s.matrix, EvenOddSpec{CgSpec{.tolerance = 1e-12}}, source);
  for (int c = 0; c < 12; ++c) {
    if (c % 2 == 0) {
      EXPECT_EQ(test::canonical_part(S.columns(), c), zero);
      EXPECT_EQ(S.report().relative_residual[size_t(c)], 0.0);
    } else {
      EXPECT_LT(test::relative_error(test::to_reference(S.columns(), c), s.expected.columns[size_t(c)]),
                1e-10);
    }
  }
}

TEST(Propagator, refuses_what_is_not_one) {
  const SmallLattice& s = small_lattice();
  EXPECT_THROW(Propagator(SpinorField(s.lattice), source_at, clover().boundary), BadArgument);
  EXPECT_THROW(
      solve_propagator(s.matrix, EvenOddSpec{CgSpec{}}, point_source(make_lattice({4, 2, 4, 8}), source_at)),
      BadArgument);
  EXPECT_THROW(solve_propagator(s.matrix->converted(Precision::single_precision), EvenOddSpec{CgSpec{}},
                                point_source(s.lattice, source_at)),
               BadArgument);
}

}  // namespace in_test_propagator
}  // namespace trellis
