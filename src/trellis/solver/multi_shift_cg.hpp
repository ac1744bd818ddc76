#pragma once
/// Conjugate gradients solve for many shifts of one operator at a time.
#include <vector>

#include "trellis/base/precision.hpp"
#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/solve_report.hpp"

namespace trellis {

struct MultiShiftSpec {
  /// This bounds |b - (A + shift) x| / |b| for every shift: the true residual in double.
  double tolerance = 1e-10;
  /// The common recursion takes at most so many; a shift that claims success and misses the tolerance gets as
  /// many of its own.
  int max_iterations = 10000;
  bool records_history = false;
  /// The common recursion has this storage. In single, shifts that the recursion brought as far as float goes
  /// are finished in mixed precision, a few at a time.
  Precision precision = Precision::double_precision;
};

/// Solves (A + shifts[k]) x[k] = b for all k in the Krylov space of the smallest shift (B. Jegerlehner,
/// hep-lat/9612014), from x = 0: what x holds on entry is not used. Every shift is checked afterwards, and
/// one that misses the tolerance is finished by conjugate gradients of its own from there.
/// The traffic of an iteration is 1 apply + 10 fields as for one shift (A^dagger A: 9), and for each further
/// shift that is not yet done 1 field: four iterations are taken in one pass (field/shift_updates.hpp), + 1
/// for all. A + the smallest shift costs nothing extra where the operator has with_shift().
///
/// In the report, relative_residual is [shift][right-hand side], iterations counts the longest chain,
/// restarts the shifts that needed iterations of their own, and mean_active_shifts those that an iteration of
/// the recursion updated, on average.
/// @pre A is hermitian and in double; A + the smallest shift is positive; shifts are finite, x has one field
/// for each
///
/// `inner` is A in spec.precision: pass it where many solves share it; null converts A for this solve.
SolveReport multi_shift_cg(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                           std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec,
                           const LinearOperatorPtr& inner = nullptr);

/// Runs the recursion alone, in the storage of A, x and b (double or single): it stops where it claims
/// spec.tolerance for every shift, and nothing is corrected. The report has the true residual of the smallest
/// shift, computed in that storage; spec.precision is not looked at. Molecular dynamics in single precision
/// uses it.
/// @pre A is hermitian, A + the smallest shift is positive; x has one field for each shift
SolveReport multi_shift_recursion(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                                  std::vector<SpinorField>& x, const SpinorField& b,
                                  const MultiShiftSpec& spec);

}  // namespace trellis
