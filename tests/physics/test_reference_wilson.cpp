// timeout: 600
/// The reference Wilson operator agrees with propagators and eigenvalues of other programs, and obeys its
/// identities. The sign of the clover term and the direction of its leaves are settled here, by lalibe and
/// Chroma.
#include <gtest/gtest.h>

#include <numbers>

#include "reference/mesons.hpp"
#include "reference/sources.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis::reference {
namespace in_test_reference_wilson {

using test::rounding;

const Coord uneven{4, 2, 6, 4};

WilsonParameters all_options() {
  WilsonParameters p;
  p.mass = -0.2;
  p.boundary = {std::polar(1.0, 0.3), -1.0, 1.0, std::polar(1.0, 1.1)};
  p.c_r = 0.9;
  p.c_t = 1.3;
  p.nu = 0.95;
  p.xi0 = 2.4;
  p.twisted_mass = 0.17;
  return p;
}

TEST(ReferenceWilson, hop_of_one_site_is_the_formula) {
  // The field psi lives on one site y with one spin and colour: H psi at y - mu and y + mu is read off by
  // hand.
  const Gauge U = test::random_gauge(uneven, 1);
  WilsonParameters p;
  p.boundary = {1.0, 1.0, 1.0, std::complex<double>(0, 1)};
  const Coord y{3, 1, 2, 0};
  SpinorVector psi = zero_spinors(U.volume());
  psi[size_t(site_index(y, uneven))].s[1].c[2] = {1, 0};
  const SpinorVector out = wilson_hop(U, p, psi);
  // The site x = y - t lies on the last slice: the forward link to y crosses the boundary with z = i, and (1
  // - gamma_t) e_1 = e_1 - e_3.
  const Coord x{3, 1, 2, 3};
  const int64_t at = site_index(x, uneven);
  for (int c = 0; c < Nc; ++c) {
    const Complex<double> u = U.link(at, 3).e[c][2], iu{-u.im, u.re};
    EXPECT_EQ(out[size_t(at)].s[1].c[c].re, iu.re);
    EXPECT_EQ(out[size_t(at)].s[1].c[c].im, iu.im);
    EXPECT_EQ(out[size_t(at)].s[3].c[c].re, -iu.re);
    EXPECT_EQ(out[size_t(at)].s[3].c[c].im, -iu.im);
    EXPECT_EQ(out[size_t(at)].s[0].c[c].re, 0.0);
    EXPECT_EQ(out[size_t(at)].s[2].c[c].re, 0.0);
  }
}

TEST(ReferenceWilson, is_gamma5_hermitian) {
  const Gauge U = test::random_gauge(uneven, 2);
  WilsonParameters p = all_options();
  const WilsonOperator D(U, p);
  const SpinorVector a = test::random_spinors(uneven, 3), b = test::random_spinors(uneven, 4);
  const std::complex<double> left = dot(a, D.apply(b)), right = dot(D.apply_dagger(a), b);
  EXPECT_LT(std::abs(left - right), rounding(100) * std::sqrt(norm2(a) * norm2(b)));
  p.twisted_mass = -p.twisted_mass;  // gamma5 D(mu) gamma5 = D(-mu)^dagger
  const GammaMatrix gamma5 = gamma_product(15);
  const SpinorVector flipped = multiply(gamma5, WilsonOperator(U, p).apply(multiply(gamma5, a)));
  EXPECT_LT(test::relative_error(flipped, D.apply_dagger(a)), rounding(20));
}

TEST(ReferenceWilson, is_gauge_covariant) {
  const Gauge U = test::random_gauge(uneven, 5);
  const auto g = test::random_transformation(uneven, 6);
  const SpinorVector psi = test::random_spinors(uneven, 7);
  auto rotated = [&](SpinorVector v) {
    for (size_t x = 0; x < v.size(); ++x) v[x] = g[x] * v[x];
    return v;
  };
  const SpinorVector left = WilsonOperator(gauge_transformed(U, g), all_options()).apply(rotated(psi));
  const SpinorVector right = rotated(WilsonOperator(U, all_options()).apply(psi));
  EXPECT_LT(test::relative_error(left, right), rounding(50));
}

/// On unit links D exp(i p x) w = [m + sum_mu (1 - cos p_mu) + i sum_mu gamma_mu sin p_mu] exp(i p x) w, and
/// p_mu = (2 pi n_mu + theta_mu) / L_mu for the boundary phase exp(i theta_mu).
TEST(ReferenceWilson, plane_waves_on_unit_links) {
  const std::array<double, 4> theta{0.4, 0.0, std::numbers::pi, std::numbers::pi};
  const double mass = 0.3;
  WilsonParameters parameters = wilson_clover(mass, 1.5);  // F = 0 has no effect
  for (size_t mu = 0; mu < 4; ++mu) parameters.boundary[mu] = std::polar(1.0, theta[mu]);
  const WilsonOperator D(unit_gauge(uneven), parameters);
  test::Random random(8);
  for (const Coord n : {Coord{0, 0, 0, 0}, Coord{1, 1, 2, 3}, Coord{3, 0, 5, 1}}) {
    const Spinor<double> w = test::random_spinor(random);
    std::array<double, 4> p;
    Spinor<double> Dw = Complex<double>{mass, 0} * w;
    for (int mu = 0; mu < 4; ++mu) {
      p[size_t(mu)] = (2 * std::numbers::pi * n[mu] + theta[size_t(mu)]) / uneven[mu];
      Dw = Dw + Complex<double>{1 - std::cos(p[size_t(mu)]), 0} * w +
           Complex<double>{0, std::sin(p[size_t(mu)])} * (gamma_mu(mu) * w);
    }
    SpinorVector wave = zero_spinors(product(uneven)), expected = wave;
    for (size_t site = 0; site < wave.size(); ++site) {
      const Coord x = site_coord(int64_t(site), uneven);
      double angle = 0;
      for (size_t mu = 0; mu < 4; ++mu) angle += p[mu] * x[mu];
      wave[site] = to_complex(std::polar(1.0, angle)) * w;
      expected[site] = to_complex(std::polar(1.0, angle)) * Dw;
    }
    EXPECT_LT(test::relative_error(D.apply(wave), expected), rounding(50)) << "momentum " << to_string(n);
  }
}

TEST(ReferenceWilson, dirichlet_time_cuts_the_torus) {
  const Gauge U = test::random_gauge(uneven, 9);
  WilsonParameters p;
  p.boundary[3] = 0.0;
  SpinorVector psi = test::random_spinors(uneven, 10);
  for (size_t x = 0; x < psi.size(); ++x)
    if (site_coord(int64_t(x), uneven)[3] != 0) psi[x] = Spinor<double>{};
  const SpinorVector out = wilson_hop(U, p, psi);
  double last_slice = 0, next_slice = 0;
  for (size_t x = 0; x < psi.size(); ++x) {
    const int t = site_coord(int64_t(x), uneven)[3];
    if (t == uneven[3] - 1) last_slice += norm2(SpinorVector{out[x]});
    if (t == 1) next_slice += norm2(SpinorVector{out[x]});
  }
  EXPECT_EQ(last_slice, 0.0);
  EXPECT_GT(next_slice, 1.0);
}

TEST(ReferenceWilson, diagonal_inverse_is_the_inverse) {
  const Gauge U = test::random_gauge(uneven, 11);
  const WilsonOperator D(U, all_options());
  const SpinorVector psi = test::random_spinors(uneven, 12);
  EXPECT_LT(test::relative_error(D.diagonal_inverse(D.diagonal(psi)), psi), rounding(500));
  EXPECT_LT(test::relative_error(D.diagonal_inverse(D.diagonal(psi, true), true), psi), rounding(500));
}

TEST(ReferenceWilson, free_propagator) {
  const Coord L{4, 4, 4, 8};
  const double expected[] = {6.957669089109e-01, 3.756065405275e-02, 8.393330436584e-03, 3.344679174258e-03,
                             2.301706917632e-03};
  const WilsonOperator D(unit_gauge(L), wilson_clover(mass_of_kappa(0.11), 0));
  const auto C = propagator_norm(propagator(D, point_source(L, {0, 0, 0, 0})));
  for (size_t t = 0; t < 5; ++t) EXPECT_LT(test::relative_error(C[t], expected[t]), 1e-12) << "t = " << t;
}

// The next tests compare with lalibe and Chroma on field A.

TEST(ReferenceWilson, whole_propagator_of_lalibe) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_A();
  const WilsonOperator D(U, wilson_clover(0.1, 1.17));
  // The file's own record says SHELL_SOURCE, Gaussian of width 2 with 5 steps, at t = 4.
  const Propagator source = gaussian_smeared(U, point_source(U.extents, {0, 0, 0, 4}), 2.0, 5);
  const Propagator S = propagator(D, source, 1e-13);
  const auto expected =
      test::read_hdf5_complex(test::data_file("lalibe/test_propagator_t4.h5"), "/sh_sig2p0_n5/PS_up_4");
  ASSERT_EQ(expected.size(), size_t(U.volume()) * 144);
  double largest = 0, worst = 0;
  size_t at = 0;
  for (int64_t x = 0; x < U.volume(); ++x)  // t, z, y, x go slow to fast: this is the order of the reference
    for (int sink = 0; sink < Ns; ++sink)
      for (int source = 0; source < Ns; ++source)
        for (int a = 0; a < Nc; ++a)
          for (int b = 0; b < Nc; ++b, ++at) {
            largest = std::max(largest, std::abs(expected[at]));
            worst = std::max(worst, std::abs(S.entry(x, sink, a, source, b) - expected[at]));
          }
  RecordProperty("relative_deviation", std::to_string(worst / largest));
  EXPECT_LT(worst, 1e-10 * largest) << "deviation " << worst / largest << " of the largest entry";
}

void expect_chroma_correlator(const std::string& file, const WilsonParameters& parameters) {
  const Gauge U = test::field_A();
  const Propagator source = gaussian_smeared(U, point_source(U.extents, {0, 0, 0, 0}), 2.0, 5);
  const auto C = propagator_norm(propagator(WilsonOperator(U, parameters), source, 1e-11));
  const auto expected = test::xml_numbers(test::data_file(file), "prop_corr");
  ASSERT_EQ(expected.size(), C.size());
  // Chroma ran in single precision.
  for (size_t t = 0; t < C.size(); ++t)
    EXPECT_LT(test::relative_error(C[t], expected[t]), 1e-6) << "t = " << t;
}

TEST(ReferenceWilson, anisotropic_wilson_of_chroma) {
  TRELLIS_NEEDS_DATA();
  WilsonParameters p;
  p.mass = mass_of_kappa(0.135);
  p.nu = 0.95;
  p.xi0 = 2.464;
  expect_chroma_correlator("chroma/unprec_wilson.out.xml", p);
}

TEST(ReferenceWilson, anisotropic_clover_of_chroma) {
  TRELLIS_NEEDS_DATA();
  WilsonParameters p;
  p.mass = mass_of_kappa(0.115);
  p.nu = 0.95;
  p.xi0 = 2.464;
  p.c_r = 0.91;
  p.c_t = 1.07;
  expect_chroma_correlator("chroma/unprec_clover.out.xml", p);
}

// The next tests compare with gold.json.

void expect_pion(const std::string& id, const Gauge& U, const WilsonParameters& p) {
  const auto C = propagator_norm(propagator(WilsonOperator(U, p), point_source(U.extents, {0, 0, 0, 0})));
  const auto expected = test::gold(id).at("pion").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), C.size());
  for (size_t t = 0; t < C.size(); ++t)
    EXPECT_LT(test::relative_error(C[t], expected[t]), 1e-10) << id << ", t = " << t;
}

TEST(ReferenceWilson, pions_on_F4) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  const double mass = mass_of_kappa(0.13);
  expect_pion("wilson.k0.13.c0.F4", U, wilson_clover(mass, 0));
  expect_pion("wilson.k0.13.c1.F4", U, wilson_clover(mass, 1));
  expect_pion("wilson.k0.13.c1.7.F4", U, wilson_clover(mass, 1.7));
}

TEST(ReferenceWilson, twisted_mass_pion_on_F4) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  WilsonParameters p = wilson_clover(mass_of_kappa(0.13), 0);
  p.twisted_mass = 0.05;
  expect_pion("twisted.k0.13.mu0.05.F4", U, p);
  p.twisted_mass = -0.05;
  const auto C = propagator_norm(propagator(WilsonOperator(U, p), point_source(U.extents, {0, 0, 0, 0})));
  const auto expected =
      test::gold("twisted.k0.13.mu0.05.F4").at("pion_opposite_mu").get<std::vector<double>>();
  for (size_t t = 0; t < C.size(); ++t)
    EXPECT_LT(test::relative_error(C[t], expected[t]), 1e-10) << "t = " << t;
}

TEST(ReferenceWilson, free_pions) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = unit_gauge({4, 4, 4, 8});
  WilsonParameters p = wilson_clover(mass_of_kappa(0.13), 0);
  expect_pion("free.wilson.k0.13.mu0", U, p);
  p.twisted_mass = 0.05;
  expect_pion("free.twisted.k0.13.mu0.05", U, p);
}

TEST(ReferenceWilson, meson_of_two_gamma5_is_the_norm_of_the_propagator) {
  const Gauge U = test::random_gauge({2, 4, 2, 4}, 13);
  const Coord at{1, 2, 0, 3};
  const Propagator S = propagator(WilsonOperator(U, wilson_clover(0.2, 1.0)), point_source(U.extents, at));
  const GammaMatrix gamma5 = gamma_product(15);
  const auto C = meson(S, S, gamma5, gamma5, {0, 0, 0}, at);
  const auto expected = propagator_norm(S, at[3]);
  for (size_t t = 0; t < C.size(); ++t) EXPECT_LT(test::relative_error(C[t], expected[t]), rounding(300));
}

}  // namespace in_test_reference_wilson
}  // namespace trellis::reference
