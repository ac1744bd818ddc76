/// The derivatives through stout levels and of the exponential agree with numerical ones.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/stout_chain.hpp"

namespace trellis {
namespace in_test_stout_chain {

using Matrix = ColorMatrix<double>;

Link random_link(test::Random& random) {
  Link A;
  for (auto& z : A) z = {random.symmetric(), random.symmetric()};
  return A;
}

/// Returns S = sum Re tr(A_mu(x) V_mu(x)) of the fat links V.
double linear_function(const LinkDerivative& A, const GaugeField& V) {
  const Coord& extents = V.lattice().extents();
  double sum = 0;
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Link a = A.matrix(site_coord(site, extents), mu), v = V.link(site_coord(site, extents), mu);
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j) sum += (a[3 * i + j] * v[3 * j + i]).real();
    }
  return sum;
}

void check_chain(const GaugeField& U, const StoutWeights& rho, int levels, double tolerance) {
  LinkDerivative A(U), G(U);
  test::Random random(17);
  const Coord& extents = U.lattice().extents();
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Link a = random_link(random);
      A.set_matrix(site_coord(site, extents), mu, a);
      G.set_matrix(site_coord(site, extents), mu, a);
    }
  const AlgebraField X = test::hash_components(U);
  auto value = [&](double t) {
    GaugeField V = U;
    drift(V, X, t);
    return linear_function(A, stout_smear(V, rho, levels));
  };
  const double h = 2e-3;
  const double numeric =
      (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
      (60 * h);
  StoutChain chain(rho, levels);
  chain.set(U);
  chain.pull_back(G);
  AlgebraField F(U);
  add_force(F, G, U);
  EXPECT_NEAR(dot(F, X), numeric, tolerance * std::abs(numeric)) << levels << " levels";
}

TEST(StoutChain, derivative_of_a_rough_field) {
  const Coord extents{4, 2, 4, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 5));
  for (const int levels : {0, 1, 2, 3}) check_chain(U, isotropic_stout(0.12), levels, 1e-8);
  StoutWeights weights{};
  for (size_t mu = 0; mu < Nd; ++mu)
    for (size_t nu = 0; nu < Nd; ++nu) weights[mu][nu] = 0.02 * double(1 + mu) + 0.03 * double(nu);
  check_chain(U, weights, 2, 1e-8);
  check_chain(U, spatial_stout(0.1), 2, 1e-8);
  check_chain(U, isotropic_stout(0.9), 1, 1e-8);  // this is beyond the series
}

TEST(StoutChain, derivative_of_smooth_and_of_unit_links) {
  const Coord extents{4, 4, 2, 4};
  const LatticePtr lattice = make_lattice(extents);
  check_chain(test::to_product(lattice, test::random_gauge(extents, 6, 1e-3)), isotropic_stout(0.15), 2,
              1e-8);
  check_chain(GaugeField(lattice), isotropic_stout(0.15), 2, 1e-8);
}

/// The smeared plaquette action of a real configuration changes along the direction of gold.md.
TEST(StoutChain, smeared_gauge_action_of_F4) {
  TRELLIS_NEEDS_DATA();
  const auto links = test::field_F4();
  const GaugeField U = test::to_product(make_lattice(links.extents), links);
  check_chain(U, isotropic_stout(0.15), 2, 1e-8);
}

TEST(StoutChain, series_and_closed_form_agree) {
  for (const double size : {0.8, 1.2, 1.8, 2.4})
    for (int k = 0; k < 40; ++k) {
      test::Random random(uint64_t(k) + 1);
      double p[8];
      for (double& x : p) x = size * random.symmetric();
      const HermitianMatrix<double> Q = hermitian(antihermitian(algebra_element(p)));
      const double c0 = determinant(Q), c1 = half_trace(square(Q));
      if (c1 < 0.2 || c1 > 2.0) continue;
      const auto series = detail::derivatives_by_series(c0, c1),
                 closed = detail::exponential_closed_form(c0, c1);
      for (int j = 0; j < 3; ++j) {
        EXPECT_NEAR(series.f[j].re, closed.f[j].re, 1e-13);
        EXPECT_NEAR(series.f[j].im, closed.f[j].im, 1e-13);
        EXPECT_NEAR(series.by_c1[j].re, closed.by_c1[j].re, 1e-12);
        EXPECT_NEAR(series.by_c1[j].im, closed.by_c1[j].im, 1e-12);
        EXPECT_NEAR(series.by_c0[j].re, closed.by_c0[j].re, 1e-12);
        EXPECT_NEAR(series.by_c0[j].im, closed.by_c0[j].im, 1e-12);
      }
    }
}

}  // namespace in_test_stout_chain
}  // namespace trellis
