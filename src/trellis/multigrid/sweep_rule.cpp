#include "trellis/multigrid/sweep_rule.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/multigrid/noise.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {

/// They are speeds of one core, chosen so that the sum of both terms is near the measured time of solves with
/// and without multigrid (doc/measurements/multigrid.md).
constexpr double flops_in_a_second = 60e9, bytes_in_a_second = 60e9;
/// The measured time of projections is so many times that price, beside the same of solves.
constexpr double slowness_of_projection = 1.8;
/// A trial takes three digits off, if so many iterations do.
constexpr double trial_reduction = 1e-3;
constexpr int trial_iterations = 24;
/// Trials have random numbers of their own: set-ups count from 0.
constexpr uint32_t trial_noise = 2000;
/// A trial that took off less than this part of a digit does not converge.
constexpr double least_digits = 0.1;

}  // namespace

double price_of(const Cost& cost) { return cost.flops / flops_in_a_second + cost.bytes / bytes_in_a_second; }

MultigridTrial try_cycle(const OperatorCopies& fine, std::unique_ptr<ApproximateInverse> K, int sweeps,
                         uint64_t seed, SolveCost& cost) {
  SpinorField r = fine->make_field(1), x = SpinorField::like(r);
  fill_with_noise(x, seed, trial_noise, all_columns(x));
  SolveCost own;
  K->apply(r, x, own);
  // K is moved once: there is one column.
  Gcr gcr(*fine, 1, trial_iterations, [&K](int) { return std::move(K); });
  SolveProgress progress(1, trial_iterations, false);
  SolveColumn& column = progress.columns.front();
  column.start2 = column.residual2 = column.largest2 = norm2_each(r).front();
  column.target2 = trial_reduction * trial_reduction * column.start2;
  column.is_active = column.start2 > 0 && std::isfinite(column.start2);
  set_zero(x);
  if (column.is_active) gcr.run(x, r, progress);
  const double digits = column.failed ? 0 : 0.5 * std::log10(column.start2 / column.residual2);
  const int iterations = std::max(column.iterations, 1);
  cost += own;
  cost += progress.cost;
  return {sweeps, iterations / std::max(digits, least_digits), price_of(progress.cost) / iterations};
}

bool sweep_pays(const std::vector<MultigridTrial>& trials, double price_of_sweep, int sources) {
  if (trials.empty() || trials.back().sweeps >= most_sweeps) return trials.empty();
  const MultigridTrial& last = trials.back();
  const double saved =
      trials.size() == 1 ? 0.25 * last.iterations_per_digit
                         : 0.5 * (trials[trials.size() - 2].iterations_per_digit - last.iterations_per_digit);
  return sources * digits_of_a_solve * saved * last.price_of_iteration > price_of_sweep;
}

SolveReport try_solver(const SolverSpec& solver, const LinearOperator& M, int iterations, uint64_t seed) {
  SpinorField b = M.make_field(1), x = SpinorField::like(b);
  fill_with_noise(b, seed, trial_noise, all_columns(b));
  SolveLimits limits = solver.limits();
  limits.max_iterations = iterations;
  limits.fallback = false;
  limits.records_history = true;
  return solve(solver.limited(limits), M, x, b);
}

/// Counts the products: one of numbers takes 8 flops. Columns have 6 numbers a chirality: products of equal
/// chiralities come twice and for the diagonal of M, those of all chiralities for four legs, and half a
/// product three times to mix columns. Legs and diagonal are an application of M. Fields of all columns are
/// read and written about 30 times.
Cost cost_of_projection(const Lattice& fine, const LinearOperator& M, int vectors) {
  const double sites = double(fine.volume()), n = vectors, product = 2 * 6 * 8 * n * n;
  const double products = 3 * product + 4 * 2 * product + 3 * product / 2;
  const double real = double(element_bytes(M.domain().precision));
  Cost cost = cost_of(sites * products, sites * n * 24 * real * 30);
  cost.flops += n * M.cost(1).flops;
  cost.conventional_flops = cost.flops;
  return cost;
}

double price_of_projection(const Lattice& fine, const LinearOperator& M, int vectors) {
  return slowness_of_projection * price_of(cost_of_projection(fine, M, vectors));
}

}  // namespace trellis
