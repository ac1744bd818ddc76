/// This file tests the projection of link derivatives, momenta and the drift of links.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"

namespace trellis {
namespace in_test_force {

using Matrix = ColorMatrix<double>;

Matrix to_matrix(const Link& U) {
  Matrix A;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const auto z = U[size_t(3 * i + j)];
      A.e[i][j] = {z.real(), z.imag()};
    }
  return A;
}

Link to_link(const Matrix& A) {
  Link U;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) U[size_t(3 * i + j)] = {A.e[i][j].re, A.e[i][j].im};
  return U;
}

/// The function S = sum Re tr(A U) has G = A: its force along each generator is Re tr(A T_a U).
TEST(Force, projection_is_the_derivative_along_the_generators) {
  const Coord extents{4, 2, 2, 4};
  GaugeField U(make_lattice(extents));
  set_hot(U, 3);
  LinkDerivative G(U);
  test::Random random(5);
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu)
      G.set_matrix(site_coord(site, extents), mu, to_link(test::random_matrix(random)));
  AlgebraField F(U);
  add_force(F, G, U, 2.0);
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, extents);
      const auto f = F.components(x, mu);
      for (int a = 0; a < 8; ++a) {
        double p[8] = {};
        p[a] = 1;
        const Matrix M = to_matrix(G.matrix(x, mu)) * (algebra_element(p) * to_matrix(U.link(x, mu)));
        EXPECT_NEAR(f[size_t(a)], 2 * trace(M).re, 1e-13);
      }
    }
}

TEST(Force, momenta_are_normal_and_keyed) {
  const Coord extents{8, 8, 8, 8};
  const GaugeField U(make_lattice(extents));
  AlgebraField P(U), Q(U);
  set_random_momenta(P, 11, 0, 3);
  const double n = 32.0 * double(product(extents));
  EXPECT_NEAR(kinetic_energy(P) / (n / 2), 1.0, 5 * std::sqrt(2 / n));
  set_random_momenta(Q, 11, 0, 3);
  EXPECT_EQ(dot(P, Q), dot(P, P));
  set_random_momenta(Q, 11, 0, 4);
  EXPECT_LT(std::abs(dot(P, Q)), 5 * std::sqrt(n));
  const ForceSize size = force_size(P);
  EXPECT_NEAR(size.mean, std::sqrt(8.0), 0.02);
  EXPECT_GT(size.largest, size.mean);
  EXPECT_LT(size.largest, 8.0);
}

TEST(Force, drift_is_the_exponential_and_reverses) {
  const Coord extents{4, 4, 2, 2};
  GaugeField U(make_lattice(extents));
  set_hot(U, 7);
  const GaugeField before = U;
  AlgebraField P(U);
  set_random_momenta(P, 1, 0, 0);
  drift(U, P, 0.3);
  const Coord x{3, 1, 0, 1};
  const auto p = P.components(x, 2);
  double scaled[8];
  for (int a = 0; a < 8; ++a) scaled[a] = 0.3 * p[size_t(a)];
  const Matrix expected = exponential(algebra_element(scaled)) * to_matrix(before.link(x, 2));
  EXPECT_LT(test::largest_difference(to_matrix(U.link(x, 2)), expected), test::rounding(8));
  drift(U, P, -0.3);
  double worst = 0;
  for (int64_t site = 0; site < product(extents); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord y = site_coord(site, extents);
      worst =
          std::max(worst, test::largest_difference(to_matrix(U.link(y, mu)), to_matrix(before.link(y, mu))));
    }
  EXPECT_LT(worst, test::rounding(20));
  EXPECT_LT(unitarity_violation(U), test::rounding(100));
}

TEST(Force, bits_do_not_depend_on_lanes) {
  const Coord extents{4, 4, 4, 8};
  const LatticePtr lattice = make_lattice(extents);
  std::vector<double> first;
  double energy = 0;
  for (const int lanes : {1, 4, 8, 16}) {
    GaugeField U(lattice, lanes);
    set_hot(U, 7);
    AlgebraField P(U);
    set_random_momenta(P, 1, 0, 0);
    drift(U, P, 0.1);
    std::vector<double> links(U.canonical_size());
    U.to_canonical(links.data());
    if (lanes == 1) {
      first = links;
      energy = kinetic_energy(P);
    }
    EXPECT_EQ(std::memcmp(first.data(), links.data(), links.size() * sizeof(double)), 0) << lanes;
    EXPECT_EQ(energy, kinetic_energy(P)) << lanes;
  }
}

}  // namespace in_test_force
}  // namespace trellis
