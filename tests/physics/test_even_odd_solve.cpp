/// The one even-odd path: the tolerance holds for M x = b of every quark, wherever the source lies, or the
/// solve has not converged.
#include <gtest/gtest.h>

#include "tests/support/five_fields.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/staggered_fields.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/solver/even_odd_solve.hpp"

namespace trellis {
namespace {

const Coord extents{4, 4, 4, 4};

struct Quark {
  std::string name;
  std::shared_ptr<const SchurOperator> S;
};

std::shared_ptr<const SchurOperator> wilson(const GaugeField& U, double mass, double csw, double twisted,
                                            SchurForm form) {
  WilsonParams params;
  params.mass = mass;
  params.csw_spatial = params.csw_temporal = csw;
  params.twisted_mass = twisted;
  return std::make_shared<WilsonSchur>(std::make_shared<WilsonMatrix>(U, params, KernelChoice{}), form);
}

std::shared_ptr<const SchurOperator> staggered(std::shared_ptr<StaggeredLinks> links, double mass) {
  StaggeredPhases phases;
  return std::make_shared<StaggeredSchur>(std::make_shared<StaggeredMatrix>(links, phases, mass));
}

std::vector<Quark> all_quarks(const GaugeField& U) {
  const HisqLinks hisq(U);
  const auto improved = std::make_shared<StaggeredLinks>(hisq.fat(0.0), hisq.long_field(),
                                                         hisq_long_coefficient(0.0), false, KernelChoice{});
  const auto naive = std::make_shared<StaggeredLinks>(U, KernelChoice{});
  const auto domain_wall = std::make_shared<DomainWallMatrix>(U, test::moebius(0.1, 4, 1.5, 0.5));
  return {{"Wilson, symmetric", wilson(U, 0.05, 0, 0, SchurForm::symmetric)},
          {"Wilson, asymmetric", wilson(U, 0.05, 0, 0, SchurForm::asymmetric)},
          {"clover", wilson(U, 0.05, 1.5, 0, SchurForm::symmetric)},
          {"twisted mass", wilson(U, 0.05, 0, 0.02, SchurForm::symmetric)},
          {"twisted clover", wilson(U, 0.05, 1.5, 0.02, SchurForm::asymmetric)},
          {"domain wall, symmetric", std::make_shared<DomainWallSchur>(domain_wall, SchurForm::symmetric)},
          {"domain wall, asymmetric", std::make_shared<DomainWallSchur>(domain_wall, SchurForm::asymmetric)},
          {"staggered", staggered(naive, 0.0005)},
          {"HISQ", staggered(improved, 0.0005)}};
}

/// A unit vector at x in each column, in another component each.
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
  for (const Quark& quark : all_quarks(U_)) {
    const auto M = quark.S->full();
    for (const Coord& at : {Coord{0, 0, 0, 0}, Coord{1, 0, 0, 0}})
      for (const int columns : {1, 3})
        for (const double tolerance : {1e-6, 1e-10}) {
          const SpinorField b = point_columns(*M, at, columns);
          for (const SolverSpec& spec : {SolverSpec{CgSpec{.tolerance = tolerance}},
                                         SolverSpec{MixedPrecisionSpec{CgSpec{.tolerance = tolerance}}}}) {
            SpinorField x = SpinorField::like(b);
            const SolveReport report = solve_even_odd(spec, *quark.S, x, b);
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
  for (const Quark& quark : all_quarks(U_)) {
    const auto M = quark.S->full();
    const SpinorField b = point_columns(*M, {1, 0, 0, 0}, 1);
    SpinorField x = SpinorField::like(b);
    const SolveReport report =
        solve_even_odd(CgSpec{.tolerance = 1e-10, .max_iterations = 3}, *quark.S, x, b);
    EXPECT_FALSE(report.converged) << quark.name;
    EXPECT_EQ(report.reason, StopReason::max_iterations) << quark.name;
    EXPECT_GT(relative_residual(*M, x, b)[0], 1e-10) << quark.name;
    EXPECT_EQ(relative_residual(*M, x, b), report.relative_residual) << quark.name;
  }
}

TEST_F(EvenOddSolve, takes_a_first_guess_on_all_sites) {
  for (const Quark& quark : all_quarks(U_)) {
    const auto M = quark.S->full();
    const SpinorField b = point_columns(*M, {1, 0, 0, 0}, 1);
    SpinorField x = SpinorField::like(b);
    const int iterations = solve_even_odd(CgSpec{1e-8}, *quark.S, x, b).iterations;
    const SolveReport again = solve_even_odd(CgSpec{1e-6}, *quark.S, x, b);
    EXPECT_TRUE(again.converged) << quark.name;
    EXPECT_LT(again.iterations, iterations / 4) << quark.name;
  }
}

}  // namespace
}  // namespace trellis
