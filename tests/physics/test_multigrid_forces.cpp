/// Multigrid in hybrid Monte Carlo has the actions, forces and trajectories of conjugate gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/heatbath.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

namespace trellis {
namespace in_test_multigrid_forces {

/// Makes thermal links of 4.4.4.8, for blocks of 2^4.
GaugeField thermal() {
  GaugeField U(make_lattice({4, 4, 4, 8}));
  set_hot(U, 3);
  for (uint32_t k = 1; k <= 10; ++k) heatbath_update(U, {6.0, 1, 2}, 3, 0, k);
  return U;
}

FactorSolverParams small_multigrid() {
  FactorSolverParams p;
  p.multigrid.block = {2, 2, 2, 2};
  p.multigrid.vectors = 8;
  p.multigrid.sweeps = 1;
  p.multigrid.smoother = MultigridSmoother::minimal_residual;  // it is the faster one on so small blocks
  return p;
}

WilsonParams quark(double mass, double csw, double twisted_mass) {
  WilsonParams p;
  p.mass = mass;
  p.csw_spatial = p.csw_temporal = csw;
  p.twisted_mass = twisted_mass;
  return p;
}

struct Light {
  std::shared_ptr<WilsonFermion> fermion;
  std::shared_ptr<TwoFlavourMonomial> monomial;
};

Light light(const WilsonParams& params, const std::optional<FactorSolverParams>& multigrid,
            double tolerance = 1e-12, std::optional<double> numerator = {}, int levels = 0,
            double shift = 0) {
  Light made;
  made.fermion = multigrid ? std::make_shared<WilsonFermion>(params, *multigrid)
                           : std::make_shared<WilsonFermion>(params);
  TwoFlavourParams p;
  p.numerator = numerator;
  p.shift = shift;
  p.dynamics_tolerance = p.metropolis_tolerance = tolerance;
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.1), levels);
  made.monomial = std::make_shared<TwoFlavourMonomial>("light", links, made.fermion, p);
  return made;
}

TEST(MultigridForces, actions_and_forces_are_those_of_conjugate_gradients) {
  const GaugeField U = thermal();
  AlgebraField X(U);
  set_random_momenta(X, 77, 0, 1);
  GaugeField moved = U;
  drift(moved, X, 0.02);
  for (const WilsonParams& params :
       {quark(-0.5, 0, 0), quark(-0.2, 1.5, 0), quark(-0.5, 0, 0.05), quark(-0.2, 1.5, -0.05)})
    for (const auto& numerator : {std::optional<double>(), std::optional<double>(0.1)}) {
      if (numerator && params.csw_temporal == 0) continue;
      SCOPED_TRACE(message("csw ", params.csw_temporal, " mu ", params.twisted_mass, " ratio ",
                           numerator.has_value()));
      const int levels = numerator ? 1 : 0;
      const Light by_cg = light(params, {}, 1e-12, numerator, levels);
      FactorSolverParams solver = small_multigrid();
      if (numerator) solver.multigrid.smoother = MultigridSmoother::schwarz;
      const Light by_multigrid = light(params, solver, 1e-12, numerator, levels);
      double actions[2];
      std::vector<AlgebraField> forces;
      int64_t iterations[2];
      for (const Light* one : {&by_cg, &by_multigrid}) {
        Monomial& monomial = *one->monomial;
        monomial.refresh(U, {5, 0, 1});
        monomial.solve_count() = {};
        actions[forces.size()] = monomial.action(U) - monomial.action(moved);
        iterations[forces.size()] = monomial.solve_count().iterations;
        forces.emplace_back(U);
        monomial.add_force(forces.back(), moved, 1.0);
        EXPECT_LE(monomial.solve_count().largest_residual, 1e-12);
      }
      const SolveCount& count = by_multigrid.monomial->solve_count();
      EXPECT_EQ(count.setups, 1);
      EXPECT_EQ(count.fallbacks, 0);
      EXPECT_EQ(by_cg.monomial->solve_count().setups, 0);
      EXPECT_LT(iterations[1], iterations[0] / 2);
      EXPECT_NEAR(actions[0], actions[1], 1e-9 * std::abs(actions[0]));
      const double size = std::sqrt(dot(forces[0], forces[0]));
      add(forces[1], -1.0, forces[0]);
      EXPECT_LT(std::sqrt(dot(forces[1], forces[1])), 1e-9 * size);
    }
}

/// Denominators A + rho^2 are solved by the factors S +- i rho gamma5, and so is the draw of a ratio with
/// them.
TEST(MultigridForces, hasenbusch_denominators_are_those_of_conjugate_gradients) {
  const GaugeField U = thermal();
  AlgebraField X(U);
  set_random_momenta(X, 77, 0, 1);
  GaugeField moved = U;
  drift(moved, X, 0.02);
  const WilsonParams params = quark(-0.2, 1.5, 0);
  for (const MultigridSmoother smoother : {MultigridSmoother::minimal_residual, MultigridSmoother::schwarz}) {
    FactorSolverParams solver = small_multigrid();
    solver.multigrid.smoother = smoother;
    const Light by_cg = light(params, {}, 1e-12, 0.015, 0, 0.005);
    const Light by_multigrid = light(params, solver, 1e-12, 0.015, 0, 0.005);
    double actions[2];
    std::vector<AlgebraField> forces;
    int64_t iterations[2];
    for (const Light* one : {&by_cg, &by_multigrid}) {
      Monomial& monomial = *one->monomial;
      monomial.refresh(U, {5, 0, 1});
      actions[forces.size()] = monomial.action(U) - monomial.action(moved);
      iterations[forces.size()] = monomial.solve_count().iterations;
      forces.emplace_back(U);
      monomial.add_force(forces.back(), moved, 1.0);
      EXPECT_LE(monomial.solve_count().largest_residual, 1e-12);
    }
    const SolveCount& count = by_multigrid.monomial->solve_count();
    EXPECT_EQ(count.setups, 1);
    EXPECT_EQ(count.fallbacks, 0);
    EXPECT_LT(iterations[1], iterations[0]) << "by both factors";
    EXPECT_NEAR(actions[0], actions[1], 1e-9 * std::abs(actions[0]));
    const double size = std::sqrt(dot(forces[0], forces[0]));
    add(forces[1], -1.0, forces[0]);
    EXPECT_LT(std::sqrt(dot(forces[1], forces[1])), 1e-9 * size);
  }
}

/// Heavy denominators, and those beside a twisted mass, have no better solver than conjugate gradients.
TEST(MultigridForces, other_shifts_are_left_to_conjugate_gradients) {
  const FactorSolver solver(small_multigrid());
  EXPECT_TRUE(solver.serves(quark(-0.2, 1.5, 0), 0.0));
  EXPECT_TRUE(solver.serves(quark(-0.2, 1.5, 0.1), 0.0));
  EXPECT_TRUE(solver.serves(quark(-0.2, 1.5, 0), 0.0081));
  EXPECT_FALSE(solver.serves(quark(-0.2, 1.5, 0), 0.25));
  EXPECT_FALSE(solver.serves(quark(-0.2, 1.5, 0.1), 0.0081));
}

Hmc make_hmc(const Light& quark, double length = 0.5) {
  const auto gauge = std::make_shared<GaugeMonomial>("gauge", GaugeAction::wilson(5.8));
  return Hmc({3, 0, length},
             {{Scheme::omelyan2, 4, 0.19, {quark.monomial}}, {Scheme::omelyan2, 2, 0.19, {gauge}}});
}

/// A refresh does not begin with the vectors that the blocks made orthonormal, which are no low modes.
TEST(MultigridForces, a_refresh_begins_with_the_test_vectors) {
  const auto M = std::make_shared<WilsonOperator>(thermal(), quark(-0.2, 1.5, 0));
  const MultigridParams params = small_multigrid().multigrid;
  const MultigridPtr made = Multigrid::make(*M, params);
  const double expected = made->report().residual.back();
  MultigridSetup setup(*M->matrix(), params);
  EXPECT_NEAR(setup.from_vectors_of(*made, 0)->report().residual.back(), expected, 1e-5 * expected);
  const auto updated = std::dynamic_pointer_cast<const Multigrid>(made->updated(M));
  EXPECT_LT(updated->report().residual.back(), expected);
}

/// A refresh makes P and D_c of improved test vectors once: some are in each refresh, and after two all of
/// them.
TEST(MultigridForces, a_refresh_improves_the_test_vectors_that_are_asked_for) {
  const auto M = std::make_shared<WilsonOperator>(thermal(), quark(-0.2, 1.5, 0));
  const MultigridParams params = small_multigrid().multigrid;
  const MultigridPtr made = Multigrid::make(*M, params);
  const auto residual_of = [&](const MultigridPtr& multigrid) {
    return MultigridSetup(*M->matrix(), params).from_vectors_of(*multigrid, 0)->report().residual.back();
  };
  const auto refreshed = [&](const MultigridPtr& from, const SomeVectors& some) {
    return MultigridSetup(*M->matrix(), params).refreshed(*from, some);
  };
  const double before = residual_of(made);
  const MultigridPtr none = refreshed(made, {0, 0}), half = refreshed(made, {0, 4});
  const MultigridPtr rest = refreshed(half, {4, 4}), all = refreshed(made, {6, 8});
  const double of_none = residual_of(none), of_half = residual_of(half), of_all = residual_of(all);
  EXPECT_LT(of_half, 0.99 * of_none);
  EXPECT_LT(residual_of(rest), 0.99 * of_half);
  EXPECT_LT(of_all, 0.97 * of_half);
  EXPECT_LT(of_all, before);
  EXPECT_THROW(refreshed(made, {0, 9}), BadArgument);
}

TEST(MultigridForces, trajectories_are_those_of_conjugate_gradients) {
  const GaugeField U = thermal();
  FactorSolverParams solver = small_multigrid();
  solver.refresh = 0.25;
  std::vector<GaugeField> ends;
  std::vector<TrajectoryRecord> records;
  for (const auto& multigrid : {std::optional<FactorSolverParams>(), std::optional(solver)}) {
    ends.push_back(U);
    Hmc hmc = make_hmc(light(quark(-0.3, 1.2, 0), multigrid));
    records.push_back(hmc.trajectory(ends.back(), 7, false));
  }
  EXPECT_NEAR(records[0].dH, records[1].dH, 1e-7);
  const SolveCount& count = records[1].monomials[0].solves;
  EXPECT_EQ(count.solves, 11);  // there are 9 forces and 2 actions
  EXPECT_EQ(count.setups, 1);
  EXPECT_EQ(count.sweeps, 2);  // they come at .25 and .5
  EXPECT_EQ(count.fallbacks, 0);
}

/// What is done before a trajectory changes no bit of it.
TEST(MultigridForces, a_trajectory_has_its_bits_whatever_was_before) {
  const GaugeField U = thermal();
  Hmc hmc = make_hmc(light(quark(-0.3, 1.2, 0), small_multigrid(), 1e-6), 0.25),
      other = make_hmc(light(quark(-0.3, 1.2, 0), small_multigrid(), 1e-6), 0.25);
  GaugeField V = U;
  other.trajectory(V, 1);
  EXPECT_EQ(hmc.energy_violation(U, 2), other.energy_violation(U, 2));
}

TEST(MultigridForces, reversibility_with_tight_solves) {
  const GaugeField U = thermal();
  FactorSolverParams solver = small_multigrid();
  solver.refresh = 0.1;
  double found[2];
  for (const bool is_multigrid : {false, true}) {
    Hmc hmc =
        make_hmc(light(quark(-0.3, 1.2, 0), is_multigrid ? std::optional(solver) : std::nullopt, 1e-13));
    found[is_multigrid] = hmc.reversibility(U, 1).links;
  }
  EXPECT_LT(found[0], 1e-11);
  EXPECT_LT(found[1], 1e-11);
}

/// A solve that is stuck makes multigrid anew, and one that is stuck again leaves the rest of the trajectory
/// to conjugate gradients.
TEST(MultigridForces, stuck_solves_are_rescued) {
  const GaugeField U = thermal();
  GaugeField other(make_lattice({4, 4, 4, 8}));
  set_weak(other, 0.3, 9);
  const WilsonParams params = quark(-0.3, 1.2, 0);
  FactorSolverParams solver = small_multigrid();
  solver.multigrid.smoother = MultigridSmoother::schwarz;
  const auto iterations_at_other = [&](const std::vector<const GaugeField*>& way) {
    const Light one = light(params, solver, 1e-10);
    one.monomial->refresh(*way.front(), {5, 0, 1});
    for (const GaugeField* links : way) {
      one.monomial->solve_count() = {};
      one.monomial->action(*links);
    }
    return one.monomial->solve_count().iterations;
  };
  const int64_t anew = iterations_at_other({&other}), stale = iterations_at_other({&U, &other});
  ASSERT_GT(stale, anew + 16) << anew;
  const auto count_with = [&](int max_iterations) {
    solver.max_iterations = max_iterations;
    const Light by_cg = light(params, {}, 1e-10), by_multigrid = light(params, solver, 1e-10);
    double last[2];
    for (const Light* one : {&by_cg, &by_multigrid}) {
      one->monomial->refresh(U, {5, 0, 1});
      one->monomial->action(U);
      last[one == &by_multigrid] = one->monomial->action(other);
    }
    EXPECT_NEAR(last[0], last[1], 1e-8 * last[0]);
    return by_multigrid.monomial->solve_count();
  };
  // Each solve has two parts.
  const SolveCount rescued = count_with(int(anew + stale) / 4), given_up = count_with(1);
  EXPECT_EQ(rescued.setups, 2);
  EXPECT_EQ(rescued.fallbacks, 0);
  EXPECT_EQ(given_up.setups, 1);
  EXPECT_EQ(given_up.fallbacks, 2);
}

TEST(MultigridForces, bad_arguments) {
  FactorSolverParams params = small_multigrid();
  params.refresh = 0;
  EXPECT_THROW(FactorSolver{params}, BadArgument);
  params = small_multigrid();
  params.max_iterations = 0;
  EXPECT_THROW(FactorSolver{params}, BadArgument);
  params = small_multigrid();
  params.multigrid.block = {4, 4, 4, 4};
  const Light odd = light(quark(-0.3, 1.2, 0), params);
  const GaugeField U = thermal();
  odd.monomial->refresh(U, {5, 0, 1});
  EXPECT_THROW(odd.monomial->action(U), BadArgument);
}

}  // namespace in_test_multigrid_forces
}  // namespace trellis
