#include "trellis/multigrid/cycle.hpp"

#include "trellis/base/clock.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/multigrid/schwarz.hpp"
#include "trellis/solver/methods/deflated.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

SolverSpec coarse_solver(const MultigridParams& params, double tolerance,
                         const std::shared_ptr<const Eigenvectors>& modes) {
  GcrSpec gcr;
  gcr.tolerance = tolerance;
  gcr.max_iterations = params.coarse_iterations;
  gcr.restart_length = params.coarse_restart;
  gcr.has_one_sum = true;
  if (modes) return EvenOddSpec{DeflatedSpec{gcr, modes}};
  return EvenOddSpec{gcr};
}

/// One P^dagger and one P, each with both parities of the coarse field moved between lanes and sites.
Cost transfer_cost(const Prolongator& P, int columns) {
  const Lattice& fine = *P.fine_lattice();
  const double real = double(element_bytes(P.columns().precision()));
  Cost cost = cost_of(double(fine.volume()) * 2 * 96 * P.vectors() * columns,
                      double(fine.volume()) * real * 2 * 24 * (P.vectors() + columns));
  cost.launches = 7;
  return cost;
}

}  // namespace

SolverSpec smoother(const MultigridParams& params, int smoothing, Precision storage) {
  if (params.smoother == MultigridSmoother::schwarz)
    return SchwarzSpec{.block = params.schwarz_block,
                       .cycles = smoothing,
                       .iterations = params.block_iterations,
                       .storage = storage};
  MrSpec mr;
  mr.iterations = smoothing;
  if (is_16_bit(storage)) return EvenOddSpec{MixedPrecisionSpec{mr, storage}};
  return EvenOddSpec{mr};
}

void try_coarse_solve(const OperatorCopies& coarse, const MultigridParams& params, SolveCost& cost) {
  SiteField b = coarse->make_field(1), x = SiteField::like(b);
  fill_with_noise(b, params.seed, coarse_noise, all_columns(b));
  const auto solver = coarse_solver(params, params.coarse_tolerance, nullptr)->inside(coarse, 1);
  SolveCost first;
  solver->apply(x, b, first);
  solver->apply(b, x, cost);
}

TwoLevelCycle::TwoLevelCycle(const OperatorCopies& fine, const Prolongator& P, const OperatorCopies& coarse,
                             const std::shared_ptr<const Eigenvectors>& modes, const MultigridParams& params,
                             CycleUse use, int columns, MultigridProfile* profile)
    : fine_{fine},
      P_{P},
      coarse_solver_{
          coarse_solver(
              params, use == CycleUse::setup ? params.setup_coarse_tolerance : params.coarse_tolerance, modes)
              ->inside(coarse, columns)},
      smoother_{smoother(params, params.smoothing,
                         use == CycleUse::setup ? params.storage : *params.smoother_storage)
                    ->inside(fine, columns)},
      coarse_residual_{P.make_coarse_field(columns)},
      coarse_solution_{SiteField::like(coarse_residual_)},
      residual_{fine->make_field(columns)},
      step_{SpinorField::like(residual_)},
      profile_{profile} {}

void TwoLevelCycle::apply(SpinorField& z, const SpinorField& r, SolveCost& cost) {
  const Coefficients one(size_t(r.rhs()), 1.0);
  MultigridProfile nowhere, &profile = profile_ ? *profile_ : nowhere;
  Stopwatch watch;
  SolveCost part_cost;
  const auto book = [&](MultigridProfile::Part& part) {
    part.seconds += watch.seconds();
    part.cost += part_cost;
    cost += part_cost;
    part_cost = {};
    watch = Stopwatch();
  };
  P_.restrict_to(coarse_residual_, r);
  book(profile.transfer);
  coarse_solver_->apply(coarse_solution_, coarse_residual_, part_cost);
  book(profile.coarse);
  P_.prolong_to(z, coarse_solution_);
  part_cost += transfer_cost(P_, r.rhs());
  book(profile.transfer);
  fine_->apply(residual_, z);
  combine(residual_, one, r, negative(one), residual_);
  part_cost.add_applications(*fine_, r.rhs(), 1);
  part_cost.add_linear_algebra(r, 3, 2, 1, 0);
  book(profile.residual);
  smoother_->apply(step_, residual_, part_cost);
  combine(z, one, z, one, step_);
  part_cost.add_linear_algebra(r, 3, 2, 1, 0);
  book(profile.smoother);
  ++profile.cycles;
  profile.columns += r.rhs();
}

}  // namespace trellis
