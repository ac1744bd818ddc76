#include "trellis/multigrid/cycle.hpp"

#include "trellis/base/clock.hpp"
#include "trellis/multigrid/coarse_schwarz.hpp"
#include "trellis/multigrid/gathering.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/multigrid/schwarz.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/methods/deflated.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

SolverSpec coarse_solver(const MultigridParams& params, CycleUse use,
                         const std::shared_ptr<const Eigenvectors>& modes) {
  const bool is_setup = use == CycleUse::setup;
  GcrSpec gcr;
  gcr.tolerance = is_setup ? params.setup_coarse_tolerance : params.coarse_tolerance;
  gcr.max_iterations = params.coarse_iterations;
  gcr.restart_length = params.coarse_restart;
  gcr.has_one_sum = true;
  if (!is_setup && params.coarse_solver == CoarseSolver::schwarz) gcr.preconditioner = CoarseSchwarzSpec{};
  if (modes) return GatheredSpec{EvenOddSpec{DeflatedSpec{gcr, modes}}};
  return GatheredSpec{EvenOddSpec{gcr}};
}

SolverSpec smoother_of(size_t level, const MultigridParams& params, CycleUse use) {
  if (level > 0) return coarse_smoother(params.coarse_smoothing);
  return smoother(params, params.smoothing,
                  use == CycleUse::setup ? params.storage : *params.smoother_storage);
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

SolverSpec coarse_smoother(int steps) {
  GcrSpec gcr;
  gcr.iterations = gcr.restart_length = steps;
  gcr.has_one_sum = true;
  return EvenOddSpec{gcr};
}

void try_coarse_solve(const OperatorCopies& coarse, const MultigridParams& params, SolveCost& cost) {
  SiteField b = coarse->make_field(1), x = SiteField::like(b);
  fill_with_noise(b, params.seed, coarse_noise, all_columns(b));
  const auto solver = coarse_solver(params, CycleUse::solve, nullptr)->inside(coarse, 1);
  SolveCost first;
  solver->apply(x, b, first);
  solver->apply(b, x, cost);
}

std::unique_ptr<ApproximateInverse> level_solver(const std::vector<CycleLevel>& levels, size_t level,
                                                 const std::shared_ptr<const Eigenvectors>& modes,
                                                 const MultigridParams& params, CycleUse use, int columns,
                                                 std::vector<MultigridProfile>* profiles) {
  const OperatorCopies& D = *levels[level].op;
  if (!levels[level].to_next) return coarse_solver(params, use, modes)->inside(D, columns);
  const auto make_cycle = [=](int of_batch) {
    return std::make_unique<MultigridCycle>(levels, level, modes, params, use, of_batch, profiles);
  };
  if (params.cycle == MultigridCycleKind::v) return make_cycle(columns);
  SolveLimits limits;
  limits.tolerance = params.cycle_tolerance;
  limits.max_iterations = params.cycle_length * (1 + params.cycle_restarts);
  return one_run(std::make_unique<Gcr>(*D, columns, params.cycle_length, make_cycle, true), *D, columns,
                 limits);
}

std::vector<CycleLevel> cycle_levels(const OperatorCopies& fine, const std::vector<OperatorCopies>& coarse,
                                     const MultigridHierarchy& hierarchy) {
  std::vector<CycleLevel> all{{&fine, &hierarchy.transfer(0)}};
  for (int level = 1; level < hierarchy.levels(); ++level)
    all.push_back(
        {&coarse[size_t(level) - 1], level + 1 < hierarchy.levels() ? &hierarchy.transfer(level) : nullptr});
  return all;
}

MultigridCycle::MultigridCycle(const std::vector<CycleLevel>& levels, size_t level,
                               const std::shared_ptr<const Eigenvectors>& modes,
                               const MultigridParams& params, CycleUse use, int columns,
                               std::vector<MultigridProfile>* profiles)
    : fine_{*levels[level].op},
      P_{*levels[level].to_next},
      coarse_solver_{level_solver(levels, level + 1, modes, params, use, columns, profiles)},
      smoother_{smoother_of(level, params, use)->inside(fine_, columns)},
      coarse_residual_{P_.make_coarse_field(columns)},
      coarse_solution_{SiteField::like(coarse_residual_)},
      residual_{fine_->make_field(columns)},
      step_{SpinorField::like(residual_)},
      profile_{profiles ? &(*profiles)[level] : nullptr} {}

void MultigridCycle::apply(SpinorField& z, const SpinorField& r, SolveCost& cost) {
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
  part_cost += P_.transfer_cost(r.rhs());
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
