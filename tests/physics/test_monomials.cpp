/// Pseudofermion monomials have forces that agree with numerical derivatives, exact draws, and chains that
/// agree.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/rational_monomial.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

namespace trellis {
namespace in_test_monomials {

template <class F>
double derivative_at_zero(F value, double h) {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

/// Checks that the force of a monomial along random momenta is the derivative of its action.
void check_force(Monomial& monomial, const GaugeField& U, double tolerance = 1e-8) {
  AlgebraField X(U);
  set_random_momenta(X, 77, 0, 1);
  monomial.refresh(U, {5, 0, 1});
  auto value = [&](double t) {
    GaugeField V = U;
    drift(V, X, t);
    return monomial.action(V);
  };
  const double numeric = derivative_at_zero(value, 3e-3);
  AlgebraField F(U);
  monomial.add_force(F, U, 1.0);
  EXPECT_NEAR(dot(F, X), numeric, tolerance * std::abs(numeric)) << monomial.name();
}

WilsonParams clover_params(double mass, double csw) {
  WilsonParams p;
  p.mass = mass;
  p.csw_spatial = p.csw_temporal = csw;
  return p;
}

TwoFlavourParams tight(double shift, std::optional<double> numerator = {}) {
  TwoFlavourParams p;
  p.shift = shift;
  p.numerator = numerator;
  p.dynamics_tolerance = p.metropolis_tolerance = 1e-13;
  return p;
}

GaugeField rough(const Coord& extents) {
  GaugeField U(make_lattice(extents));
  set_weak(U, 0.4, 4);
  return U;
}

TEST(Monomials, forces_of_two_wilson_flavours) {
  const GaugeField U = rough({4, 4, 2, 4});
  WilsonParams twisted = clover_params(0.0, 0.0);
  WilsonParams twisted_clover = clover_params(0.2, 1.2);
  twisted.twisted_mass = twisted_clover.twisted_mass = 0.3;
  for (const WilsonParams& params :
       {clover_params(0.1, 0.0), clover_params(0.2, 1.2), twisted, twisted_clover})
    for (const int levels : {0, 2}) {
      const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.12), levels);
      const auto fermion = std::make_shared<WilsonFermion>(params);
      SCOPED_TRACE(message("csw ", params.csw_temporal, " mu ", params.twisted_mass, " levels ", levels));
      for (const TwoFlavourParams& p : {tight(0), tight(0.2), tight(0, 0.2), tight(0.2, 0.7)}) {
        TwoFlavourMonomial monomial(message("light ", p.shift, " ", p.numerator.value_or(0)), links, fermion,
                                    p);
        check_force(monomial, U);
      }
      if (!params.has_clover()) continue;
      CloverDeterminantMonomial determinant("determinant", links, params, 2);
      check_force(determinant, U);
    }
}

/// The determinant monomial and the Schur complement make the two-flavour determinant: log det S^dagger S -
/// S_det = 2 log |det D|, with D of reference/.
TEST(Monomials, determinants_of_a_twisted_mass_with_a_clover_term) {
  const Coord extents{2, 2, 2, 2};
  const auto U = test::random_gauge(extents, 47, 0.5);
  WilsonParams params = clover_params(0.1, 1.3);
  params.twisted_mass = 0.35;
  reference::WilsonParameters expected_params;
  expected_params.mass = params.mass;
  expected_params.c_r = expected_params.c_t = 1.3;
  expected_params.twisted_mass = params.twisted_mass;
  expected_params.boundary = params.boundary;
  const reference::WilsonOperator D(U, expected_params);
  const int size = 12 * 16;
  const auto dense = test::dense_matrix(
      size, [&](const test::DenseVector& v) { return test::to_dense(D.apply(test::to_spinors(v))); });
  const double expected = 2 * test::log_abs_determinant(dense.partialPivLu());

  const GaugeField links = test::to_product(make_lattice(extents), U);
  const auto matrix = std::make_shared<WilsonMatrix>(links, params, KernelChoice{});
  const WilsonSchur S(matrix, SchurForm::asymmetric);
  const auto schur = test::dense_matrix(size, [&](const test::DenseVector& v) {  // this is 1 on the odd sites
    SpinorField x = matrix->hop().make_field(Subset::full, 1), even = S.make_field(), image = S.make_field();
    test::to_product(x, test::to_spinors(v));
    extract_parity(even, x);
    S.apply(image, even);
    insert_parity(x, image);
    return test::to_dense(test::to_reference(x));
  });
  const auto thin = std::make_shared<SmearedLinks>(isotropic_stout(0.0), 0);
  CloverDeterminantMonomial determinant("determinant", thin, params, 2);
  const double found = 2 * test::log_abs_determinant(schur.partialPivLu()) - determinant.action(links);
  EXPECT_LT(test::relative_error(found, expected), 1e-12);
}

/// Rational functions with one or two poles need not approximate anything for this test.
TEST(Monomials, force_of_a_rational_action) {
  const GaugeField U = rough({4, 2, 4, 4});
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.1), 1);
  const auto fermion = std::make_shared<WilsonFermion>(clover_params(0.2, 1.0));
  RationalParams params;
  params.pseudofermions = 2;
  params.heat_bath = {{0.3, {0.5}, {0.7}}, 1e-13};
  params.dynamics = params.metropolis = {{0.1, {0.4, 1.1}, {0.2, 2.5}}, 1e-13};
  RationalMonomial monomial("strange", links, fermion, params);
  check_force(monomial, U);
}

/// The mean of S over draws is the number of components, as for exp(-S): the draw and the action belong
/// together. The split determinants add up.
TEST(Monomials, draws_have_the_distribution_of_the_action) {
  const GaugeField U = rough({2, 2, 2, 4});
  const double components = 12 * 32 / 2;
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.0), 0);
  const auto fermion = std::make_shared<WilsonFermion>(clover_params(0.1, 1.0));
  for (const TwoFlavourParams& p : {tight(0), tight(0.3), tight(0, 0.3), tight(0.3, 1.5)}) {
    TwoFlavourMonomial monomial("light", links, fermion, p);
    double sum = 0;
    const int n = 200;
    for (uint32_t k = 0; k < uint32_t(n); ++k) {
      monomial.refresh(U, {9, 0, k});
      sum += monomial.action(U);
    }
    EXPECT_NEAR(sum / n / components, 1.0, 5 / std::sqrt(n * components)) << p.shift;
  }
}

TEST(Monomials, reversibility_with_tight_solves) {
  const GaugeField U = rough({4, 4, 4, 4});
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.12), 1);
  const auto fermion = std::make_shared<WilsonFermion>(clover_params(0.3, 1.0));
  TwoFlavourParams p = tight(0);
  p.dynamics_tolerance = 1e-14;
  const auto light = std::make_shared<TwoFlavourMonomial>("light", links, fermion, p);
  const auto determinant =
      std::make_shared<CloverDeterminantMonomial>("determinant", links, fermion->params(), 2);
  const auto gauge = std::make_shared<GaugeMonomial>("gauge", GaugeAction::wilson(5.6));
  Hmc hmc({3, 0, 0.5},
          {{Scheme::omelyan2, 3, 0.19, {light, determinant}}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
  const Reversibility found = hmc.reversibility(U, 1);
  EXPECT_LT(found.links, 1e-12);
}

/// The force from a solve in float is that of a tight solve up to float's rounding, with a shift and without.
TEST(Monomials, solves_in_single_precision) {
  const GaugeField U = rough({4, 4, 4, 4});
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.12), 1);
  const auto fermion = std::make_shared<WilsonFermion>(clover_params(0.3, 1.0));
  for (TwoFlavourParams p : {tight(0), tight(0.2, 0.7)}) {
    std::vector<AlgebraField> forces;
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
      p.dynamics_precision = precision;
      p.dynamics_tolerance = precision == Precision::double_precision ? 1e-13 : 1e-7;
      TwoFlavourMonomial light("light", links, fermion, p);
      light.refresh(U, {5, 0, 1});
      forces.emplace_back(U);
      light.add_force(forces.back(), U, 1.0);
    }
    const double size = std::sqrt(dot(forces[0], forces[0]));
    add(forces[1], -1.0, forces[0]);
    const double difference = std::sqrt(dot(forces[1], forces[1]));
    EXPECT_LT(difference, 1e-6 * size);
    EXPECT_GT(difference, 1e-10 * size);
  }
}

TEST(Monomials, bad_arguments) {
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.0), 0);
  const auto fermion = std::make_shared<WilsonFermion>(clover_params(0.1, 1.0));
  EXPECT_THROW(TwoFlavourMonomial("x", links, fermion, tight(-0.1)), BadArgument);
  EXPECT_THROW(TwoFlavourMonomial("x", links, fermion, tight(0.3, 0.2)), BadArgument);
}

}  // namespace in_test_monomials
}  // namespace trellis
