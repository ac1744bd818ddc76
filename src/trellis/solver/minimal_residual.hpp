#pragma once
/// Minimal residual iteration, for many right-hand sides.
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// A x = b with A whose hermitian part is definite.   Traffic per iteration: 1 apply + 9 fields.
/// @pre 0 < spec.relaxation < 2
SolveReport minimal_residual(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                             const MrSpec& spec);

/// alpha = relaxation <A r, r> / |A r|^2;  x += alpha r;  r -= alpha A r
class MinimalResidual final : public KrylovMethod {
 public:
  MinimalResidual(const LinearOperator& A, int rhs, double relaxation);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;

 private:
  const LinearOperator& A_;
  double relaxation_;
  SpinorField image_;  ///< A r
};

}  // namespace trellis
