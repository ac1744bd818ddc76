/// HISQ is a monomial: forces of flavours that share their links equal differences, trajectories reverse, and
/// the action is that of the operator itself.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/hisq_fermion.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/rational_monomial.hpp"

namespace trellis {
namespace in_test_hisq_monomials {

template <class F>
double derivative_at_zero(F value, double h) {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

RationalParams two_poles(uint32_t id) {
  RationalParams params;
  params.pseudofermions = 2;
  params.id = id;
  params.heat_bath = {{0.3, {0.5}, {0.7}}, 1e-13};
  params.dynamics = params.metropolis = {{0.1, {0.4, 1.1}, {0.05, 2.5}}, 1e-14};
  return params;
}

struct Sea {
  std::shared_ptr<HisqSmearing> smearing = std::make_shared<HisqSmearing>();
  std::vector<MonomialPtr> flavours;

  void add(double mass, double epsilon, const StaggeredPhases& phases) {
    flavours.push_back(std::make_shared<RationalMonomial>(
        "flavour", smearing, std::make_shared<HisqFermion>(smearing, phases, mass, epsilon),
        two_poles(uint32_t(flavours.size()))));
  }
};

Sea two_flavours() {
  StaggeredPhases phases;
  Sea sea;
  sea.add(0.1, 0.0, phases);
  phases.mu_over_ipiT = 0.3;
  phases.flux = flux_of(2, {0, 0, 1}, {0, 0, 0});
  sea.add(0.4, -0.3, phases);
  return sea;
}

TEST(HisqMonomials, forces_are_derivatives) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.35, 4);
  AlgebraField X(U);
  set_random_momenta(X, 77, 0, 1);
  Sea sea = two_flavours();
  for (const MonomialPtr& monomial : sea.flavours) {
    monomial->refresh(U, {5, 0, 1});
    const double numeric = derivative_at_zero(
        [&](double t) {
          GaugeField V = U;
          drift(V, X, t);
          return monomial->action(V);
        },
        2e-3);
    AlgebraField F(U);
    monomial->add_force(F, U, 1.0);
    EXPECT_NEAR(dot(F, X), numeric, 1e-8 * std::abs(numeric));
  }
}

TEST(HisqMonomials, forces_of_flavours_are_carried_through_the_smearing_together) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.35, 6);
  Sea sea = two_flavours();
  AlgebraField one_by_one(U), together(U);
  std::vector<FermionMonomial*> fermions;
  for (const MonomialPtr& monomial : sea.flavours) {
    monomial->refresh(U, {5, 0, 1});
    monomial->add_force(one_by_one, U, 1.0);
    fermions.push_back(dynamic_cast<FermionMonomial*>(monomial.get()));
  }
  add_forces(together, fermions, U, 1.0);
  const double size = dot(together, together);
  add(together, -1.0, one_by_one);
  EXPECT_LT(std::sqrt(dot(together, together) / size), 1e-12);
}

TEST(HisqMonomials, the_action_is_that_of_the_operator) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.35, 8);
  const auto smearing = std::make_shared<HisqSmearing>();
  const auto fermion = std::make_shared<HisqFermion>(smearing, StaggeredPhases{}, 0.2, -0.1);
  smearing->at(U);
  fermion->set_links(U, smearing->version());
  const HisqLinks hisq(U);
  const auto links =
      std::make_shared<StaggeredLinks>(hisq.fat(-0.1), hisq.long_field(), hisq_long_coefficient(-0.1));
  const StaggeredSchur direct(std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.2));
  SpinorField x = direct.make_field(), a = direct.make_field(), b = direct.make_field();
  set_normal(x, {1, 2, 3}, 4);
  direct.apply(a, x);
  fermion->op()->apply(b, x);
  combine(b, 1.0, b, -1.0, a);
  EXPECT_EQ(norm2(b), 0.0);
}

TEST(HisqMonomials, trajectories_reverse_and_steps_have_their_order) {
  GaugeField U(make_lattice({4, 4, 4, 4}));
  set_weak(U, 0.35, 4);
  Sea sea = two_flavours();
  const MonomialPtr gauge = std::make_shared<GaugeMonomial>("gauge", GaugeAction::symanzik(4.0));
  Hmc hmc({3, 0, 0.4}, {{Scheme::omelyan2, 2, 0.19, sea.flavours}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
  EXPECT_LT(hmc.reversibility(U, 1).links, 1e-12);
  // The draw does not belong to these functions, so that dH has a constant part.
  double values[3];
  for (int k = 0; k < 3; ++k) {
    Hmc finer({3, 0, 0.4},
              {{Scheme::omelyan2, 3 << k, 0.19, sea.flavours}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
    values[k] = finer.energy_violation(U, 1);
  }
  EXPECT_NEAR(std::log2((values[0] - values[1]) / (values[1] - values[2])), 2.0, 0.4);
}

}  // namespace in_test_hisq_monomials
}  // namespace trellis
