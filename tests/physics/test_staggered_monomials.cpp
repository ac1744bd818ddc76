/// Rational staggered monomials have forces through smeared links, phases and flux, and the weight of the
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
namespace in_test_staggered_monomials {

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

/// Returns the relative size of a - b.
double distance(const AlgebraField& a, const AlgebraField& b) {
  return std::sqrt(std::max(dot(a, a) - 2 * dot(a, b) + dot(b, b), 0.0) / dot(b, b));
}

/// Solves are in float, or the other arithmetic of forces, or both: forces and dH differ from those in double
/// by float's rounding, and the way back by the rounding of double, since the force is a function of the
/// links that float sees.
TEST(StaggeredMonomials, molecular_dynamics_in_single_precision) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.4, 4);
  std::vector<AlgebraField> forces, gauge_forces;
  std::vector<double> violations, actions;
  constexpr Precision d = Precision::double_precision, s = Precision::single_precision;
  for (const auto& [precision, arithmetic] : {std::pair{d, d}, {s, d}, {d, s}, {s, s}}) {
    const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.15), 2, arithmetic);
    const auto sea = std::make_shared<StaggeredSea>();
    const MonomialPtr gauge =
        std::make_shared<GaugeMonomial>("gauge", GaugeAction::symanzik(4.0), arithmetic);
    gauge_forces.emplace_back(U);
    gauge->add_force(gauge_forces.back(), U, 1.0);
    RationalParams params = two_poles();
    params.dynamics.tolerance = precision == d ? 1e-13 : 1e-7;
    params.dynamics.precision = precision;
    const auto flavour = std::make_shared<RationalMonomial>(
        "m", links, std::make_shared<StaggeredFermion>(sea, StaggeredPhases{}, 0.1), params);
    flavour->refresh(U, {5, 0, 1});
    flavour->solve_count() = SolveCount{};
    forces.emplace_back(U);
    flavour->add_force(forces.back(), U, 1.0);
    const bool is_single = precision == s;
    EXPECT_LT(flavour->solve_count().largest_residual, is_single ? 1e-6 : 1e-13);
    if (is_single) {
      EXPECT_GT(flavour->solve_count().largest_residual, 1e-9);
    }
    Hmc hmc({3, 0, 0.5}, {{Scheme::omelyan2, 3, 0.19, {flavour}}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
    violations.push_back(hmc.energy_violation(U, 1));
    if (is_single || arithmetic == s) {
      EXPECT_LT(hmc.reversibility(U, 1).links, 1e-9);
    }
    // The action is in double: whatever forces did to the links that the monomials share is undone.
    flavour->refresh(U, {5, 0, 1});
    GaugeField V = U;
    drift(V, forces[0], 0.01);
    actions.push_back(flavour->action(V));
  }
  for (size_t k = 1; k < forces.size(); ++k) {
    EXPECT_LT(distance(forces[k], forces[0]), 1e-6) << k;
    EXPECT_GT(distance(forces[k], forces[0]), 1e-10) << k;
    EXPECT_NEAR(violations[k], violations[0], 1e-4) << k;
    EXPECT_NEAR(actions[k], actions[0], 1e-9 * std::abs(actions[0])) << k;
  }
  EXPECT_EQ(distance(gauge_forces[1], gauge_forces[0]), 0);
  EXPECT_LT(distance(gauge_forces[2], gauge_forces[0]), 1e-6);
  EXPECT_GT(distance(gauge_forces[2], gauge_forces[0]), 1e-10);
}

TEST(StaggeredMonomials, single_precision_refuses_what_float_cannot_reach) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  RationalParams params = two_poles();
  params.dynamics.precision = Precision::single_precision;
  RationalMonomial flavour(
      "m", std::make_shared<SmearedLinks>(isotropic_stout(0.15), 1),
      std::make_shared<StaggeredFermion>(std::make_shared<StaggeredSea>(), StaggeredPhases{}, 0.1), params);
  flavour.refresh(U, {5, 0, 1});
  AlgebraField F(U);
  EXPECT_THROW(flavour.add_force(F, U, 1.0), BadArgument);
}

}  // namespace in_test_staggered_monomials
}  // namespace trellis
