#pragma once
/// M x = b through a Schur complement S on half the sites, to a residual of M x = b itself.
///
/// |b - M x| is not the residual of S: the diagonal blocks stand between them. How far the two differ for the
/// source, whose residual x = 0 on S leaves whole, is what S is solved more accurately by from the start;
/// where that was not enough, the solve goes on from where it was.
#include <algorithm>
#include <cmath>
#include <vector>

#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/propagator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

/// `solution`: the first guess on S's sites. The report's solve counts all that was done, with the residuals
/// of S; it has not converged where M x = b has not.
template <class Schur>
PropagatorReport solve_even_odd(const SolverSpec& spec, const LinearOperator& M, const Schur& S,
                                SpinorField& x, SpinorField& solution, const SpinorField& b,
                                const LinearOperatorPtr& inner = nullptr) {
  constexpr int most_continuations = 3;
  const auto largest = [](const std::vector<double>& residuals) {
    double worst = 0;
    for (const double r : residuals)
      if (!(r <= worst)) worst = r;  // NaN too
    return worst;
  };
  const double tolerance = tolerance_of(spec);
  SpinorField source = S.make_field(b.rhs());
  S.prepare_source(source, b);
  {
    SpinorField nothing = S.make_field(b.rhs());
    set_zero(nothing);
    S.reconstruct(x, nothing, b);
  }
  const double ratio = largest(relative_residual(M, x, b));
  double wanted = tolerance / (std::isfinite(ratio) ? std::max(1.0, ratio) : 1.0);
  PropagatorReport report;
  for (int i = 0; i <= most_continuations; ++i) {
    SolveReport solve = trellis::solve(with_tolerance(spec, wanted), S, solution, source, inner);
    S.reconstruct(x, solution, b);
    report.true_residual = relative_residual(M, x, b);
    if (i > 0) solve.continues(report.solve);
    report.solve = std::move(solve);
    const double worst = largest(report.true_residual);
    if (worst <= tolerance || !report.solve.converged) break;
    wanted *= 0.8 * tolerance / worst;
  }
  SolveReport& solve = report.solve;
  if (largest(report.true_residual) <= tolerance) {
    if (!solve.converged && solve.reason == StopReason::stagnated) solve.reason = StopReason::converged;
    solve.converged = solve.converged || solve.reason == StopReason::converged;
  } else if (solve.converged) {
    solve.converged = false;
    solve.reason = StopReason::stagnated;
  }
  return report;
}

}  // namespace trellis
