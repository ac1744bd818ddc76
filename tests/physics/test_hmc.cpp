/// Hybrid Monte Carlo of the gauge action has the orders of the integrators, reversibility, <exp(-dH)> = 1,
/// and equal bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/heatbath.hpp"
#include "trellis/update/hmc.hpp"

namespace trellis {
namespace in_test_hmc {

MonomialPtr gauge(const GaugeAction& S) { return std::make_shared<GaugeMonomial>("gauge", S); }

Hmc make_hmc(const GaugeAction& S, Scheme scheme, int steps, double length = 1.0, uint64_t seed = 5) {
  return Hmc({seed, 0, length}, {{scheme, steps, 0.1931833275037836, {gauge(S)}}});
}

GaugeField thermal(const Coord& extents, double beta) {
  GaugeField U(make_lattice(extents));
  set_hot(U, 3);
  for (uint32_t k = 1; k <= 20; ++k) heatbath_update(U, {beta, 1, 2}, 3, 0, k);
  return U;
}

/// dH of an integrator of order p over a fixed length falls as h^p.
TEST(Hmc, orders_of_the_integrators) {
  const GaugeField U = thermal({4, 4, 4, 4}, 5.7);
  const struct {
    Scheme scheme;
    int steps, order;
  } cases[] = {{Scheme::leapfrog, 32, 2},
               {Scheme::omelyan2, 20, 2},
               {Scheme::omelyan4, 8, 4},
               {Scheme::force_gradient, 12, 4}};
  for (const auto& c : cases)
    for (const double c1 : {0.0, -1.0 / 12}) {
      double mean[2];
      for (int k = 0; k < 2; ++k) {
        Hmc hmc = make_hmc({c1 == 0 ? 5.7 : 4.0, c1}, c.scheme, c.steps << k);
        double sum = 0;
        for (uint32_t n = 0; n < 3; ++n) sum += std::abs(hmc.energy_violation(U, n));
        mean[k] = sum / 3;
      }
      // The next term of the series is of relative order h^2.
      EXPECT_NEAR(std::log2(mean[0] / mean[1]), c.order, 0.25) << int(c.scheme) << " c1 " << c1;
    }
}

/// Two levels with the same action halved keep the order; the inner drift is the outer one's.
TEST(Hmc, nested_levels) {
  const GaugeField U = thermal({4, 4, 4, 4}, 5.7);
  double values[2];
  for (int k = 0; k < 2; ++k) {
    Hmc hmc({5, 0, 1.0}, {{Scheme::omelyan2, 10 << k, 0.1931833275037836, {gauge({2.7, 0.0})}},
                          {Scheme::omelyan4, 1, 0, {gauge({3.0, 0.0})}}});
    values[k] = std::abs(hmc.energy_violation(U, 1));
    const auto& forces = hmc.integrator().forces();
    EXPECT_EQ(forces[0][0].evaluations, 2 * (10 << k) + 1);
    EXPECT_EQ(forces[1][0].evaluations, 2 * 5 * (10 << k) + 1);
    EXPECT_NEAR(forces[0][0].size.mean / forces[1][0].size.mean, 0.9, 1e-12);
  }
  EXPECT_NEAR(std::log2(values[0] / values[1]), 2.0, 0.3);
}

TEST(Hmc, trajectories_are_reversible) {
  const GaugeField U = thermal({4, 4, 4, 8}, 5.7);
  for (const Scheme scheme : {Scheme::leapfrog, Scheme::omelyan2, Scheme::omelyan4, Scheme::force_gradient}) {
    Hmc hmc = make_hmc({4.2, -1.0 / 12}, scheme, 8);
    const Reversibility found = hmc.reversibility(U, 1);
    EXPECT_LT(found.links, 1e-12);
    EXPECT_LT(found.momenta, 1e-12);
    EXPECT_LT(std::abs(found.dH), 1e-8);
  }
}

/// Area preservation means <exp(-dH)> = 1, here with steps so large that dH is of order 1.
TEST(Hmc, creutz_equality_and_acceptance) {
  GaugeField U = thermal({4, 4, 4, 4}, 5.7);
  Hmc hmc = make_hmc({5.7, 0.0}, Scheme::omelyan2, 6);
  const int n = 300;
  double sum = 0, square = 0, accepted = 0, erfc_sum = 0;
  for (uint32_t k = 1; k <= uint32_t(n); ++k) {
    const TrajectoryRecord r = hmc.trajectory(U, k);
    const double w = std::exp(-r.dH);
    sum += w;
    square += w * w;
    accepted += r.is_accepted;
    erfc_sum += std::min(1.0, w);
    EXPECT_EQ(r.is_accepted, r.random < w);
  }
  const double mean = sum / n, error = std::sqrt((square / n - mean * mean) / n);
  EXPECT_GT(error, 1e-3);  // dH is not so small that this is empty
  EXPECT_NEAR(mean, 1.0, 4 * error);
  EXPECT_NEAR(accepted / n, erfc_sum / n, 4 * std::sqrt(0.25 / n));
  EXPECT_LT(unitarity_violation(U), 1e-14);
}

TEST(Hmc, links_have_the_same_bits_for_any_lanes_and_after_a_restart) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 8});
  std::vector<double> first;
  for (const int lanes : {1, 4, 8, 16}) {
    GaugeField U(lattice, lanes);
    set_hot(U, 3);
    Hmc hmc = make_hmc({4.2, -1.0 / 12}, Scheme::omelyan2, 4, 0.5);
    hmc.trajectory(U, 1, false);
    Hmc fresh = make_hmc({4.2, -1.0 / 12}, Scheme::omelyan2, 4, 0.5);
    (lanes == 8 ? fresh : hmc).trajectory(U, 2, true);
    std::vector<double> links(U.canonical_size());
    U.to_canonical(links.data());
    if (first.empty()) first = links;
    EXPECT_EQ(std::memcmp(first.data(), links.data(), links.size() * sizeof(double)), 0) << lanes;
  }
}

TEST(Hmc, bad_arguments) {
  EXPECT_THROW(scheme_of("euler"), BadArgument);
  EXPECT_THROW(make_hmc({6, 0}, Scheme::leapfrog, 0), BadArgument);
  EXPECT_THROW(make_hmc({6, 0}, Scheme::leapfrog, 4, -1.0), BadArgument);
  EXPECT_THROW(Hmc({1, 0, 1.0}, {}), BadArgument);
  EXPECT_THROW(Hmc({1, 0, 1.0}, {{Scheme::leapfrog, 1, 0, {}}}), BadArgument);
}

}  // namespace in_test_hmc
}  // namespace trellis
