/// On the one even-odd path the tolerance holds for M x = b of every quark, wherever the source lies, or the
/// solve has not converged.
#include <gtest/gtest.h>

#include "tests/support/all_quarks.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_even_odd_solve {

const Coord extents{4, 4, 4, 4};

/// Makes a unit vector at x in each column, in another component each.
SpinorField point_columns(const LinearOperator& M, const Coord& x, int columns) {
  SpinorField b = M.make_field(columns);
  std::vector<double> unit(size_t(b.reals()), 0.0);
  for (int c = 0; c < columns; ++c) {
    std::fill(unit.begin(), unit.end(), 0.0);
    unit[size_t(2 * c)] = 1;
    b.set_site(b.layout().position(x), c * b.slices(), unit.data());
  }
  return b;
}

class EvenOddSolve : public testing::Test {
 protected:
  EvenOddSolve() : U_{test::to_product(make_lattice(extents), test::random_gauge(extents, 7))} {}
  GaugeField U_;
};

TEST_F(EvenOddSolve, reaches_its_tolerance_on_the_whole_system_from_either_parity) {
  for (const test::Quark& quark : test::all_quarks(U_)) {
    const LinearOperatorPtr& M = quark.M;
    for (const Coord& at : {Coord{0, 0, 0, 0}, Coord{1, 0, 0, 0}})
      for (const int columns : {1, 3})
        for (const double tolerance : {1e-6, 1e-10}) {
          const SpinorField b = point_columns(*M, at, columns);
          for (const SolverSpec& spec : {SolverSpec{CgSpec{.tolerance = tolerance}},
                                         SolverSpec{MixedPrecisionSpec{CgSpec{.tolerance = tolerance}}}}) {
            SpinorField x = SpinorField::like(b);
            const SolveReport report = solve(EvenOddSpec{spec, quark.form}, *M, x, b);
            const std::string what = quark.name + ", source at " + to_string(at) + ": " + report.summary();
            EXPECT_TRUE(report.converged) << what;
            const std::vector<double> residual = relative_residual(*M, x, b);
            ASSERT_EQ(residual.size(), size_t(columns));
            EXPECT_EQ(residual, report.relative_residual) << what;
            for (const double r : residual) EXPECT_LE(r, tolerance) << what;
          }
        }
  }
}

TEST_F(EvenOddSolve, says_that_it_has_not_converged_where_the_whole_system_misses_its_tolerance) {
  for (const test::Quark& quark : test::all_quarks(U_)) {
    const LinearOperatorPtr& M = quark.M;
    const SpinorField b = point_columns(*M, {1, 0, 0, 0}, 1);
    SpinorField x = SpinorField::like(b);
    const SolveReport report =
        solve(EvenOddSpec{CgSpec{.tolerance = 1e-10, .max_iterations = 3}, quark.form}, *M, x, b);
    EXPECT_FALSE(report.converged) << quark.name;
    EXPECT_EQ(report.reason, StopReason::max_iterations) << quark.name;
    EXPECT_GT(relative_residual(*M, x, b)[0], 1e-10) << quark.name;
    EXPECT_EQ(relative_residual(*M, x, b), report.relative_residual) << quark.name;
  }
}

TEST_F(EvenOddSolve, takes_a_first_guess_on_all_sites) {
  for (const test::Quark& quark : test::all_quarks(U_)) {
    const LinearOperatorPtr& M = quark.M;
    const SpinorField b = point_columns(*M, {1, 0, 0, 0}, 1);
    SpinorField x = SpinorField::like(b);
    const int iterations = solve(EvenOddSpec{CgSpec{1e-8}, quark.form}, *M, x, b).iterations;
    const SolveReport again = solve(EvenOddSpec{CgSpec{1e-6}, quark.form}, *M, x, b);
    EXPECT_TRUE(again.converged) << quark.name;
    EXPECT_LT(again.iterations, iterations / 4) << quark.name;
  }
}

/// Columns on even and on odd sites, whose Schur systems want other tolerances, are solved as if alone.
TEST_F(EvenOddSolve, treats_each_column_as_if_it_were_alone) {
  for (const test::Quark& quark : test::all_quarks(U_)) {
    const SolverSpec solver = EvenOddSpec{CgSpec{1e-8}, quark.form};
    SpinorField b = point_columns(*quark.M, {1, 0, 0, 0}, 3);
    copy_columns(b, 1, point_columns(*quark.M, {0, 0, 0, 0}, 1), 0, 1);
    SpinorField x = SpinorField::like(b);
    ASSERT_TRUE(solve(solver, *quark.M, x, b).converged) << quark.name;
    for (int c = 0; c < 3; ++c) {
      SpinorField one = quark.M->make_field(1), x_one = quark.M->make_field(1);
      copy_columns(one, 0, b, c, 1);
      solve(solver, *quark.M, x_one, one);
      copy_columns(one, 0, x, c, 1);
      combine(one, 1.0, one, -1.0, x_one);
      EXPECT_EQ(norm2(one), 0.0) << quark.name << ", column " << c;
    }
  }
}

}  // namespace in_test_even_odd_solve
}  // namespace trellis
