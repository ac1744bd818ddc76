#pragma once
/// The report says what a solve did: iterations, the true residuals, the reason it stopped and what it cost.
#include <string>
#include <vector>

#include "trellis/field/cost.hpp"

namespace trellis {

/// It is the reason for which a solve stopped. Among many right-hand sides it is that of the worst, in the
/// order of this list.
enum class StopReason {
  converged,         ///< every true residual is at or below the tolerance
  zero_source,       ///< every right-hand side is zero, and so is the solution
  fixed_iterations,  ///< the iterations asked for were done: a solve without a tolerance
  max_iterations,    ///< the iterations ran out
  stagnated,  ///< restarts from the true residual no longer reduce it (the limit of double, or of the method)
  full_system_stagnated,  ///< S converged, and M x = b, whose Schur complement it is, cannot follow
  broke_down,             ///< a coefficient of the recursion has a vanishing or (CG) non-positive denominator
  not_finite,             ///< the operator returned NaN or Inf; the solution is what was reached before
  preconditioner_not_finite  ///< the preconditioner did so
};
const char* name_of(StopReason reason);

/// This is a part of a solve that went on with another method.
struct SolveStage {
  std::string method;
  int iterations = 0;
  double residual = 0;  ///< it is the largest |b - A x| / |b| at its end
  StopReason reason = StopReason::converged;
};

struct SolveReport {
  std::string method;  ///< it says in words, e.g. "cg on the normal equations, half precision inside"
  int iterations = 0;  ///< the right-hand side that took most took so many
  /// |b - A x| / |b| for each right-hand side is recomputed from x in double at the end; it is 0 for a zero
  /// one.
  std::vector<double> relative_residual;
  bool converged = false;
  StopReason reason = StopReason::max_iterations;
  int reliable_updates = 0;       ///< residuals were recomputed in double on the way so often (first and last
                                  ///< check not counted)
  double mean_active_shifts = 0;  ///< multi-shift solves updated so many in an iteration, on average
  int restarts = 0;               ///< so many search spaces were thrown away and begun anew
  /// A solve that was stuck and went on with surer methods has all of them here in order; else it is empty.
  std::vector<SolveStage> stages;
  double seconds = 0;
  Cost cost;  ///< it counts operators and linear algebra
  /// Where it was asked for, this has the largest |r| / |b| of the recursion (not the true residual) after
  /// each iteration.
  std::vector<double> history;

  double largest_residual() const;  ///< it is NaN if any is
  /// Returns this solve as a stage of another.
  SolveStage stage() const { return {method, iterations, largest_residual(), reason}; }
  /// Adds what a solve took from which this one went on.
  void continues(const SolveReport& before);
  /// Adds another solve of the same task and keeps the worse of both endings, and the residuals of the last.
  void add(const SolveReport& next);
  /// Adds the solve of further columns of the same task, which was done after this one.
  void add_columns(const SolveReport& others);
  double gflops() const { return seconds > 0 ? cost.flops / seconds * 1e-9 : 0.0; }
  double gbytes_per_second() const { return seconds > 0 ? cost.bytes / seconds * 1e-9 : 0.0; }
  /// Returns one line for logs.
  std::string summary() const;
};

}  // namespace trellis
