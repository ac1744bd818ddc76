#pragma once
/// A Chebyshev polynomial of a hermitian operator makes its low modes large.
#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/krylov_method.hpp"

namespace trellis {

/// P = T_n((upper + cutoff - 2 A) / (upper - cutoff)) lies between -1 and 1 on eigenvalues in [cutoff,
/// upper], and grows like cosh(2 n sqrt((cutoff - lambda) / upper)) below the cutoff.
/// The traffic is n applications, and 6 fields for each of them.
class ChebyshevFilter {
 public:
  /// @pre degree >= 1; 0 < cutoff < upper
  ChebyshevFilter(const LinearOperator& A, int degree, double cutoff, double upper);
  /// Computes out = P in. @pre out is not in
  void apply(SpinorField& out, const SpinorField& in, SolveCost& cost) const;
  int degree() const { return degree_; }
  double cutoff() const { return cutoff_; }

 private:
  const LinearOperator& A_;
  int degree_;
  double cutoff_, upper_;
};

}  // namespace trellis
