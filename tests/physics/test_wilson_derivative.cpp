/// Derivatives of the Wilson-clover operator agree with numerical ones and gold numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/algebra/su3.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/operator/clover_field.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/operator/wilson_derivative.hpp"

namespace trellis {
namespace in_test_wilson_derivative {

template <class F>
double derivative_at_zero(F value, double h) {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

std::vector<WilsonParams> operators() {
  WilsonParams wilson, clover, twisted, anisotropic;
  wilson.mass = 0.1;
  clover.mass = -0.2;
  clover.csw_spatial = clover.csw_temporal = 1.7;
  clover.boundary = {std::polar(1.0, 0.3), 1.0, 1.0, -1.0};
  twisted.twisted_mass = 0.4;
  anisotropic.csw_spatial = 0.9;
  anisotropic.csw_temporal = 1.1;
  anisotropic.nu = 0.95;
  anisotropic.xi0 = 2.4;
  return {wilson, clover, twisted, anisotropic};
}

TEST(WilsonDerivative, bilinear_forms) {
  const Coord extents{4, 2, 4, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 8));
  const AlgebraField direction = test::hash_components(U);
  for (const WilsonParams& params : operators()) {
    SpinorField X = WilsonOperator(U, params).make_field(2), Y = SpinorField::like(X);
    for (int rhs = 0; rhs < 2; ++rhs) {
      test::to_product(X, test::random_spinors(extents, uint64_t(31 + rhs)), rhs);
      test::to_product(Y, test::random_spinors(extents, uint64_t(41 + rhs)), rhs);
    }
    auto value = [&](double t) {
      GaugeField V = U;
      drift(V, direction, t);
      const WilsonOperator D(V, params);
      SpinorField out = SpinorField::like(X);
      D.apply(out, X);
      return dot(Y, out).real();
    };
    WilsonLinkDerivative derivative(params);
    LinkDerivative G(U);
    derivative.begin(U);
    derivative.add(G, Y, X, 1.0);
    derivative.finish(G);
    AlgebraField F(U);
    add_force(F, G, U);
    const double numeric = derivative_at_zero(value, 1e-2);
    EXPECT_NEAR(dot(F, direction), numeric, 1e-8 * std::abs(numeric))
        << "csw " << params.csw_temporal << " mu " << params.twisted_mass;
  }
}

TEST(WilsonDerivative, log_determinant_of_the_clover_term) {
  const Coord extents{4, 4, 2, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 9, 0.5));
  const AlgebraField direction = test::hash_components(U);
  WilsonParams params;
  params.mass = 0.3;
  params.csw_spatial = 1.1;
  params.csw_temporal = 1.3;
  for (int parity = 0; parity < 2; ++parity) {
    auto value = [&](double t) {
      GaugeField V = U;
      drift(V, direction, t);
      return clover_log_determinant(clover_term(V, params), parity);
    };
    WilsonLinkDerivative derivative(params);
    LinkDerivative G(U);
    derivative.begin(U);
    derivative.add_log_determinant(clover_inverse(clover_term(U, params), params), parity, 2.0);
    derivative.finish(G);
    AlgebraField F(U);
    add_force(F, G, U);
    const double numeric = 2 * derivative_at_zero(value, 1e-2);
    EXPECT_NEAR(dot(F, direction), numeric, 1e-8 * std::abs(numeric)) << parity;
  }
  const SpinorField unit = clover_term(GaugeField(make_lattice(extents)), params);
  EXPECT_NEAR(clover_log_determinant(unit, 0), 12 * std::log(4.3) * double(product(extents)) / 2, 1e-9);
}

}  // namespace in_test_wilson_derivative
}  // namespace trellis
