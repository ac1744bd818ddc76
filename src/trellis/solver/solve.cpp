#include "trellis/solver/solve.hpp"

#include <cmath>
#include <limits>

#include "trellis/solver/batches.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// Runs one stage, without a fallback.
SolveReport solve_stage(const SolverSpec& spec, const OperatorCopies& A, SpinorField& x,
                        const SpinorField& b) {
  if (b.rhs() == 1 || !spec->takes_batches()) return spec->solve(A, x, b);
  const auto storage = spec->storage();
  const SolveLimits limits = spec.limits();
  size_t first = 0;
  const int wanted = spec->columns_at_a_time();
  return solve_in_batches(wanted > 0 ? wanted : columns_per_batch(storage ? *A.in(*storage) : *A), x, b,
                          [&](SpinorField& part_x, const SpinorField& part_b) {
                            const size_t count = size_t(part_b.rhs());
                            const SolverSpec part = spec.limited(limits.of_columns(first, count));
                            first += count;
                            return part->solve(A, part_x, part_b);
                          });
}

bool got_stuck(const SolveReport& report) {
  return report.reason == StopReason::stagnated || report.reason == StopReason::broke_down ||
         report.reason == StopReason::not_finite || report.reason == StopReason::preconditioner_not_finite;
}

}  // namespace

SolveReport solve(const SolverSpec& spec, const OperatorCopies& A, SpinorField& x, const SpinorField& b) {
  SolveReport report = solve_stage(spec, A, x, b);
  const SolveLimits limits = spec.limits();
  const bool falls_back = limits.fallback && limits.iterations == 0;
  auto next = spec->surer();
  while (got_stuck(report) && falls_back && next) {
    if (report.stages.empty()) report.stages.push_back(report.stage());
    SolveReport further = solve_stage(*next, A, x, b);
    if (further.stages.empty()) further.stages.push_back(further.stage());
    further.continues(report);
    report = std::move(further);
    next = (*next)->surer();
  }
  return report;
}

std::vector<double> relative_residual(const LinearOperator& A, const SpinorField& x, const SpinorField& b,
                                      SolveCost* cost) {
  SpinorField r = SpinorField::like(b);
  A.apply(r, x);
  combine(r, Coefficients(size_t(b.rhs()), 1.0), b, Coefficients(size_t(b.rhs()), -1.0), r);
  const Coefficients residual = norm_each(r), norm = norm_each(b);
  if (cost) {
    cost->add_applications(A, b.rhs(), 1);
    cost->add_linear_algebra(b, 3, 3, 1, 0);
    cost->add_norms(b, residual);
    cost->add_norms(b, norm);
  }
  std::vector<double> relative;
  for (size_t i = 0; i < norm.size(); ++i) {
    if (norm[i] > 0)
      relative.push_back(residual[i] / norm[i]);
    else
      relative.push_back(residual[i] == 0 ? 0.0 : std::numeric_limits<double>::infinity());
  }
  return relative;
}

}  // namespace trellis
