#include "trellis/multigrid/cycle.hpp"

#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

SolverSpec coarse_solver(const MultigridParams& params, double tolerance) {
  GcrSpec gcr;
  gcr.tolerance = tolerance;
  gcr.max_iterations = params.coarse_iterations;
  gcr.restart_length = params.coarse_restart;
  return EvenOddSpec{gcr};
}

/// Of P or P^dagger.
Cost transfer_cost(const Prolongator& P, int columns) {
  const Lattice& fine = *P.fine_lattice();
  const double real = double(element_bytes(P.columns().precision()));
  Cost cost = cost_of(double(fine.volume()) * 96 * P.vectors() * columns,
                      double(fine.volume()) * real * 24 * (P.vectors() + columns));
  cost.launches = 4;
  return cost;
}

}  // namespace

SolverSpec smoother(int steps) {
  MrSpec mr;
  mr.iterations = steps;
  return EvenOddSpec{mr};
}

TwoLevelCycle::TwoLevelCycle(const OperatorCopies& fine, const Prolongator& P, const OperatorCopies& coarse,
                             const MultigridParams& params, double coarse_tolerance, int columns)
    : fine_{fine},
      P_{P},
      coarse_solver_{coarse_solver(params, coarse_tolerance)->inside(coarse, columns)},
      smoother_{smoother(params.smoothing)->inside(fine, columns)},
      coarse_residual_{P.make_coarse_field(columns)},
      coarse_solution_{SiteField::like(coarse_residual_)},
      residual_{fine->make_field(columns)},
      step_{SpinorField::like(residual_)} {}

void TwoLevelCycle::apply(SpinorField& z, const SpinorField& r, SolveCost& cost) {
  const Coefficients one(size_t(r.rhs()), 1.0);
  P_.restrict_to(coarse_residual_, r);
  coarse_solver_->apply(coarse_solution_, coarse_residual_, cost);
  P_.prolong_to(z, coarse_solution_);
  fine_->apply(residual_, z);
  combine(residual_, one, r, negative(one), residual_);
  smoother_->apply(step_, residual_, cost);
  combine(z, one, z, one, step_);
  cost += 2 * transfer_cost(P_, r.rhs());
  cost.add_applications(*fine_, r.rhs(), 1);
  cost.add_linear_algebra(r, 6, 4, 2, 0);
}

}  // namespace trellis
