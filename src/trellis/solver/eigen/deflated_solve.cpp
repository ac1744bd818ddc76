#include "trellis/solver/eigen/deflated_solve.hpp"

#include <algorithm>
#include <chrono>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// The solver of a stage, with what is left of the iterations.
SolverSpec stage(const DeflatedSpec& spec, double tolerance, int iterations) {
  const auto limit = [&](auto krylov) {
    krylov.tolerance = tolerance;
    krylov.max_iterations = iterations;
    krylov.fallback = false;  // the outermost solve alone goes on with another method
    return krylov;
  };
  return std::visit(
      [&](const auto& solver) -> SolverSpec {
        if constexpr (std::is_same_v<std::decay_t<decltype(solver)>, MixedPrecisionSpec>) {
          MixedPrecisionSpec mixed = solver;
          mixed.inner =
              std::visit([&](const auto& krylov) -> KrylovSpec { return limit(krylov); }, solver.inner);
          return mixed;
        } else {
          return limit(solver);
        }
      },
      spec.solver);
}

struct Limits {
  double tolerance;
  int max_iterations;
};
Limits limits(const DeflatedSpec& spec) {
  const auto of = [](const auto& krylov) { return Limits{krylov.tolerance, krylov.max_iterations}; };
  return std::visit(
      [&](const auto& solver) {
        if constexpr (std::is_same_v<std::decay_t<decltype(solver)>, MixedPrecisionSpec>)
          return std::visit(of, solver.inner);
        else
          return of(solver);
      },
      spec.solver);
}

double largest(const std::vector<double>& values) {
  double worst = 0;
  for (const double v : values) worst = v <= worst ? worst : v;
  return worst;
}
}  // namespace

SolveReport solve_deflated(const DeflatedSpec& spec, const LinearOperator& A, const LinearOperatorPtr& inner,
                           SpinorField& x, const SpinorField& b) {
  TRELLIS_REQUIRE(spec.reduction >= 0 && spec.reduction < 1,
                  "a deflated solve: reduction lies between 0 and 1, not ", spec.reduction);
  const auto start = std::chrono::steady_clock::now();
  const Limits all = limits(spec);
  const bool is_half = is_16_bit(spec.vectors->vectors.front().precision());
  const double reduction = spec.reduction > 0 ? spec.reduction : is_half ? 1e-3 : 1e-4;
  SolveReport total;
  SolveCost cost;
  double residual = 1;
  for (;;) {
    spec.vectors->deflate(A, x, b, cost);
    const double target = std::max(all.tolerance, reduction * residual);
    const SolveReport part =
        solve(stage(spec, target, std::max(1, all.max_iterations - total.iterations)), A, x, b, inner);
    total.method = part.method + message(", deflated with ", spec.vectors->count(), " modes");
    total.iterations += part.iterations;
    total.reliable_updates += part.reliable_updates;
    total.restarts += part.restarts;
    total.flops += part.flops;
    total.conventional_flops += part.conventional_flops;
    total.bytes += part.bytes;
    total.history.insert(total.history.end(), part.history.begin(), part.history.end());
    total.relative_residual = part.relative_residual;
    total.converged = part.converged;
    total.reason = part.reason;
    residual = largest(part.relative_residual);
    if (!part.converged || residual <= all.tolerance) break;
    if (total.iterations >= all.max_iterations) {
      total.converged = false;
      total.reason = StopReason::max_iterations;
      break;
    }
  }
  total.flops += cost.flops;
  total.conventional_flops += cost.conventional_flops;
  total.bytes += cost.bytes;
  total.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return total;
}

}  // namespace trellis
