/// Heat bath and over-relaxation have exact distributions of one link, strong coupling and known plaquettes,
/// and resume. Seeds are fixed; statistical tolerances are five standard errors unless said otherwise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/kernels/gauge/heatbath.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_heatbath {

SiteRandom<double> site_random(uint64_t site, uint32_t trajectory = 0) {
  return SiteRandom<double>(random_key(17, 0), RandomPurpose::test, trajectory, site);
}

struct Mean {
  double sum = 0, squares = 0;
  int n = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    ++n;
  }
  double value() const { return sum / n; }
  double error() const { return std::sqrt((squares / n - value() * value()) / n); }
};

/// For the density sqrt(1 - h0^2) exp(alpha h0) the moments are <h0> = I2(alpha) / I1(alpha) and <h0^2> = 1 -
/// 3 <h0> / alpha.
TEST(Heatbath, su2_component_has_the_exact_moments) {
  for (const double alpha : {0.01, 0.3, 0.79, 0.81, 2.0, 14.0, 200.0}) {
    Mean first, second;
    for (uint64_t i = 0; i < 200000; ++i) {
      const double h0 = 1 - draw_su2_component(site_random(i), 0, alpha);
      ASSERT_LE(std::abs(h0), 1.0);
      first.add(h0);
      second.add(h0 * h0);
    }
    const double exact = std::cyl_bessel_i(2, alpha) / std::cyl_bessel_i(1, alpha);
    EXPECT_NEAR(first.value(), exact, 5 * first.error()) << "alpha " << alpha;
    EXPECT_NEAR(second.value(), 1 - 3 * exact / alpha, 5 * second.error()) << "alpha " << alpha;
  }
  Mean flat;
  for (uint64_t i = 0; i < 200000; ++i) flat.add(std::pow(1 - draw_su2_component(site_random(i), 0, 0.0), 2));
  EXPECT_NEAR(flat.value(), 0.25, 5 * flat.error());
}

TEST(Heatbath, su2_direction_is_uniform) {
  Mean component[3], product, squares;
  for (uint64_t i = 0; i < 200000; ++i) {
    const Quaternion<double> h = draw_su2(site_random(i), 0, 1.5);
    EXPECT_NEAR(length_of(h), 1.0, 4e-15);
    for (int k = 0; k < 3; ++k) component[k].add(h.a[k + 1]);
    product.add(h.a[1] * h.a[2]);
    squares.add(h.a[1] * h.a[1] - h.a[3] * h.a[3]);
  }
  for (const Mean& m : component) EXPECT_NEAR(m.value(), 0, 5 * m.error());
  EXPECT_NEAR(product.value(), 0, 5 * product.error());
  EXPECT_NEAR(squares.value(), 0, 5 * squares.error());
}

struct OneLink {
  double trace, square;  ///< these are <Re tr U / 3>, <(Re tr U / 3)^2>
};

/// Computes exact means with the weight exp(b Re tr U) dU by Weyl's formula, with the eigenvalues' angles on
/// a fine periodic grid.
OneLink one_link_exact(double b) {
  const int n = 400;
  double z = 0, first = 0, second = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const double x = 2 * M_PI * i / n, y = 2 * M_PI * j / n, w = -x - y;
      const double measure =
          std::pow(std::sin((x - y) / 2) * std::sin((y - w) / 2) * std::sin((w - x) / 2), 2);
      const double tr = std::cos(x) + std::cos(y) + std::cos(w), weight = measure * std::exp(b * (tr - 3));
      z += weight;
      first += weight * tr / 3;
      second += weight * tr * tr / 9;
    }
  return {first / z, second / z};
}

/// A link lies in the field of a fixed staple sum, in many independent chains: V = s G with G in SU(3), so U
/// G^dagger has the weight exp((beta/3) s Re tr). Chains begin with Haar's measure; twelve updates forget it.
TEST(Heatbath, one_link_in_a_fixed_field_has_the_exact_moments) {
  test::Random fixed(4);
  for (const double strength : {0.3, 1.0, 4.0}) {
    const double beta = 5.0;
    const ColorMatrix<double> V = strength * test::random_su3(fixed), G = (1 / strength) * V;
    Mean first, second, off;
    for (uint64_t i = 0; i < 20000; ++i) {
      ColorMatrix<double> U = random_su3(site_random(i, 1000), 0);
      for (uint32_t step = 0; step < 12; ++step) {
        ColorMatrix<double> product = mul_dagger(U, V);
        heatbath_link(site_random(i, step), 0, beta, U, product);
        if (step % 2 == 1) {  // this keeps the distribution
          product = mul_dagger(U, V);
          overrelax_link(U, product);
        }
      }
      const ColorMatrix<double> W = mul_dagger(U, G);
      first.add(trace(W).re / 3);
      second.add(std::pow(trace(W).re / 3, 2));
      off.add(W.e[0][1].re + W.e[2][0].im);
    }
    const OneLink exact = one_link_exact(beta / 3 * strength);
    EXPECT_NEAR(first.value(), exact.trace, 5 * first.error()) << strength;
    EXPECT_NEAR(second.value(), exact.square, 5 * second.error()) << strength;
    EXPECT_NEAR(off.value(), 0, 5 * off.error()) << strength;
  }
}

TEST(Heatbath, overrelaxation_keeps_the_action_and_moves_the_links) {
  GaugeField U(make_lattice({4, 6, 4, 8}));
  set_hot(U, 3);
  for (uint32_t k = 0; k < 5; ++k) heatbath_update(U, {5.8, 1, 0}, 3, 0, k);
  const double before = plaquette(U), trace_before = link_trace(U);
  std::vector<double> old(U.canonical_size()), now(U.canonical_size());
  U.to_canonical(old.data());
  for (int k = 0; k < 10; ++k) overrelaxation_sweep(U);
  U.to_canonical(now.data());
  // It is the mean of about 4600 plaquettes, each changed 40 times by independent roundings.
  EXPECT_NEAR(plaquette(U), before, test::rounding(50));
  EXPECT_GT(std::abs(link_trace(U) - trace_before), 1e-4);
  double moved = 0;
  for (size_t i = 0; i < old.size(); ++i) moved += std::pow(now[i] - old[i], 2);
  EXPECT_GT(moved / double(old.size()), 0.01);
  EXPECT_LT(unitarity_violation(U), 1e-12);
}

/// Returns means over a chain, with the error from 10 bins.
Mean plaquette_chain(const Coord& extents, const HeatbathParams& params, int skip, int updates, bool is_hot) {
  GaugeField U(make_lattice(extents));
  if (is_hot) set_hot(U, 11);
  Heatbath chain(params);
  Mean bins, bin;
  for (int k = 0; k < skip + updates; ++k) {
    chain.update(U, 11, 0, uint32_t(k));
    if (k < skip) continue;
    bin.add(plaquette(U));
    if (bin.n == updates / 10) {
      bins.add(bin.value());
      bin = Mean();
    }
  }
  return bins;
}

/// The plaquette is P = u + 4 u^5 + ..., where u is the mean of tr U / 3 of one link (characters; four
/// dimensions).
TEST(Heatbath, plaquette_at_strong_coupling) {
  for (const double beta : {0.0, 0.5, 1.5}) {
    const double u = beta == 0 ? 0 : one_link_exact(beta / 3).trace;
    const Mean P = plaquette_chain({6, 6, 6, 6}, {beta, 1, 0}, 20, 200, true);
    EXPECT_NEAR(P.value(), u + 4 * std::pow(u, 5), 5 * P.error()) << "beta " << beta;
    EXPECT_LT(P.error(), 3e-4);
  }
}

/// The large-volume values are .5937 (hep-lat/9602007) and .5492 (beta 5.7); the finite volume is worth less
/// than 1e-3.
TEST(Heatbath, plaquette_at_the_couplings_in_use) {
  const Mean hot = plaquette_chain({8, 8, 8, 8}, {6.0, 1, 3}, 60, 100, true);
  const Mean cold = plaquette_chain({8, 8, 8, 8}, {6.0, 1, 3}, 60, 100, false);
  EXPECT_NEAR(hot.value(), 0.5937, 1e-3);
  EXPECT_NEAR(cold.value(), 0.5937, 1e-3);
  const Mean strong = plaquette_chain({8, 8, 8, 8}, {5.7, 1, 3}, 60, 100, true);
  EXPECT_NEAR(strong.value(), 0.5492, 2e-3);
}

TEST(Heatbath, resuming_gives_the_bits_of_an_unbroken_chain) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 6});
  const HeatbathParams params{5.9, 2, 2};
  auto links = [](const GaugeField& U) {
    std::vector<double> x(U.canonical_size());
    U.to_canonical(x.data());
    return x;
  };
  GaugeField unbroken(lattice);
  set_hot(unbroken, 7, 2);
  Heatbath chain(params);
  std::vector<double> saved;
  for (uint32_t k = 0; k < 6; ++k) {
    if (k == 3) saved = links(unbroken);
    chain.update(unbroken, 7, 2, k);
  }
  GaugeField resumed(lattice);
  resumed.from_canonical(saved.data());
  Heatbath second_chain(params);
  for (uint32_t k = 3; k < 6; ++k) second_chain.update(resumed, 7, 2, k);
  EXPECT_EQ(links(resumed), links(unbroken));
  GaugeField other(lattice);
  other.from_canonical(saved.data());
  heatbath_update(other, params, 8, 2, 3);
  EXPECT_NE(links(other), links(unbroken));
  EXPECT_LT(unitarity_violation(unbroken), test::rounding(20));
}

TEST(Heatbath, starts) {
  GaugeField U(make_lattice({4, 4, 4, 8}));
  set_hot(U, 1);
  EXPECT_LT(std::abs(plaquette(U)), 5 * std::sqrt(1.0 / 18 / (6 * 512)));
  EXPECT_LT(unitarity_violation(U), 1e-13);
  set_weak(U, 0.05, 1);
  // For each of the four links -tr X^2 = size^2 8 / 2, and 1 - P = (1/6) of the sum, to leading order.
  EXPECT_NEAR(1 - plaquette(U), 0.05 * 0.05 * 8 / 3, 0.1 * 0.05 * 0.05);
  set_cold(U);
  EXPECT_DOUBLE_EQ(plaquette(U), 1.0);
}

TEST(Heatbath, refuses_bad_parameters) {
  EXPECT_THROW(Heatbath({-1.0, 1, 0}), BadArgument);
  EXPECT_THROW(Heatbath({std::nan(""), 1, 0}), BadArgument);
  EXPECT_THROW(Heatbath({6.0, 5000, 0}), BadArgument);
  EXPECT_THROW(Heatbath({6.0, 1, -1}), BadArgument);
}

}  // namespace in_test_heatbath
}  // namespace trellis
