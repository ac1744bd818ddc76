#pragma once
/// This is the outside of every solver: it takes true residuals in double, and corrections from a Krylov
/// method in any storage.
///
///   repeat   r = (b - A x) / |b|      in double, for each right-hand side
///            stop the columns with |r| <= tolerance, without iterations left, or that no longer improve
///            d = method(r)             in the method's storage
///            x += |b| d
///
/// With the method in double this is one pass, and the restart from the true residual where the recursion had
/// drifted; with the method in float or half it is the mixed-precision solver.
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

struct CorrectionParams {
  explicit CorrectionParams(const SolveLimits& limits, const StagnationRule& stagnation = {});

  double tolerance;
  std::vector<double> tightened;  ///< they are factors of it for each right-hand side; empty means 1
  int max_iterations;
  bool records_history;
  bool is_fixed;  ///< the iterations are all done, and no tolerance is aimed at
  /// Columns are given up by this rule before their iterations run out.
  StagnationRule stagnation;
  /// A run may stop once it has reduced the residual by this factor (0: only at the tolerance).
  double reduction_per_run = 0;
  /// A method that has reliable updates makes one when the residual has dropped by this factor (0: none).
  double update_threshold = 0;
  /// That factor follows what rounding has added to the residuals of earlier runs.
  bool is_threshold_adapted = false;
};

/// Solves A x = b; x is the first guess. `inner` is the operator that the method applies (it makes its
/// fields). Slow convergence is not an error: it is in the report.
/// @pre A, x and b are in double, x and b alike and of A's domain; 0 < tolerance < 1; max_iterations >= 1.
/// Throws NumericError if b or the first guess has a NaN or Inf.
SolveReport correct_residual(const LinearOperator& A, const LinearOperator& inner, KrylovMethod& method,
                             SpinorField& x, const SpinorField& b, const CorrectionParams& params);

}  // namespace trellis
