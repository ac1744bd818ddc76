/// Rational staggered monomials: forces through smeared links, phases and flux; the weight of the
/// determinant.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tolerance.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/rational_monomial.hpp"
#include "trellis/update/staggered_fermion.hpp"

namespace trellis {
namespace {

template <class F>
double derivative_at_zero(F value, double h) {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

void check_force(Monomial& monomial, const GaugeField& U) {
  AlgebraField X(U);
  set_random_momenta(X, 77, 0, 1);
  monomial.refresh(U, {5, 0, 1});
  const double numeric = derivative_at_zero(
      [&](double t) {
        GaugeField V = U;
        drift(V, X, t);
        return monomial.action(V);
      },
      2e-3);
  AlgebraField F(U);
  monomial.add_force(F, U, 1.0);
  EXPECT_NEAR(dot(F, X), numeric, 1e-8 * std::abs(numeric)) << monomial.name();
}

RationalParams two_poles() {
  RationalParams params;
  params.pseudofermions = 2;
  params.heat_bath = {{0.3, {0.5}, {0.7}}, 1e-13};
  params.dynamics = params.metropolis = {{0.1, {0.4, 1.1}, {0.05, 2.5}}, 1e-13};
  return params;
}

TEST(StaggeredMonomials, forces) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.4, 4);
  for (const int levels : {0, 2})
    for (const bool has_flux : {false, true}) {
      const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.15), levels);
      StaggeredPhases phases;
      if (has_flux) {
        phases.mu_over_ipiT = 0.3;
        phases.flux = flux_of(-1, {0, 1, 2}, {1, 0, 0});
      }
      const auto sea = std::make_shared<StaggeredSea>();
      RationalMonomial light("light", links, std::make_shared<StaggeredFermion>(sea, phases, 0.1),
                             two_poles());
      RationalMonomial strange("strange", links, std::make_shared<StaggeredFermion>(sea, phases, 0.3),
                               two_poles());
      check_force(light, U);
      check_force(strange, U);
      check_force(light, U);
    }
}

TEST(StaggeredMonomials, trajectories_reverse_and_forces_are_added_before_the_chain_rule) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.4, 4);
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.15), 2);
  const auto sea = std::make_shared<StaggeredSea>();
  RationalParams params = two_poles();
  params.dynamics.tolerance = 1e-14;
  std::vector<MonomialPtr> flavours;
  for (const double mass : {0.1, 0.5}) {
    params.id = uint32_t(flavours.size());
    flavours.push_back(std::make_shared<RationalMonomial>(
        "m", links, std::make_shared<StaggeredFermion>(sea, StaggeredPhases{}, mass), params));
  }
  const MonomialPtr gauge = std::make_shared<GaugeMonomial>("gauge", GaugeAction::symanzik(4.0));
  Hmc hmc({3, 0, 0.5}, {{Scheme::omelyan2, 3, 0.19, flavours}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
  EXPECT_LT(hmc.reversibility(U, 1).links, 1e-12);
  // The draw does not belong to these functions, so that dH has a constant part.
  double values[3];
  for (int k = 0; k < 3; ++k) {
    Hmc finer({3, 0, 0.5},
              {{Scheme::omelyan2, 6 << k, 0.19, flavours}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
    values[k] = finer.energy_violation(U, 1);
  }
  EXPECT_NEAR(std::log2((values[0] - values[1]) / (values[1] - values[2])), 2.0, 0.3);
}

}  // namespace
}  // namespace trellis
