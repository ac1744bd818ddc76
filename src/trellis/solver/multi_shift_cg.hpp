#pragma once
/// Conjugate gradients for many shifts of one operator at a time.
#include <vector>

#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/solve_report.hpp"

namespace trellis {

struct MultiShiftSpec {
  /// |b - (A + shift) x| / |b| for every shift: the true residual in double.
  double tolerance = 1e-10;
  /// Of the common recursion; a shift that claims success and misses the tolerance gets as many of its own.
  int max_iterations = 10000;
  bool records_history = false;
};

/// Solves (A + shifts[k]) x[k] = b for all k in the Krylov space of the smallest shift (B. Jegerlehner,
/// hep-lat/9612014), from x = 0: what x holds on entry is not used. Every shift is checked afterwards, and
/// one that misses the tolerance is finished by conjugate gradients of its own from there.
///   Traffic per iteration: 1 apply + 5 fields (p.Ap 2, r and |r|^2 3; A^dagger A: 4) + 5 for each shift not
///   yet done
///
/// In the report, relative_residual is [shift][right-hand side], iterations counts the longest chain, and
/// restarts the shifts that needed iterations of their own.
/// @pre A is hermitian and in double; A + the smallest shift is positive; shifts are finite, x has one field
/// for each
SolveReport multi_shift_cg(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                           std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec);

}  // namespace trellis
