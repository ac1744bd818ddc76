#pragma once
/// Conjugate gradients, for hermitian positive operators and on the normal equations; many right-hand sides
/// at a time, each with its own coefficients and the same bits as alone.
#include <optional>

#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// A x = b with A hermitian and positive. x is the first guess; r = b - A x is recomputed before the solver
/// gives up or claims success. Finds a direction of negative curvature => broke_down.
///   Traffic per iteration: 1 apply + 10 fields (p.Ap 2, r and |r|^2 3, x and p 5); A^dagger A: 8.
/// @pre A.is_hermitian()
SolveReport conjugate_gradient(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                               const CgSpec& spec);

/// A x = b with any A without zero modes, by conjugate gradients on A^dagger A x = A^dagger b. The recursion
/// holds r = b - A x itself, so the solve stops on the residual of A x = b (see CgSpec).
///   Traffic per iteration: 1 apply, 1 apply_dagger + 8 fields (r and |r|^2 3, x and p 5); |A p|^2 and
///   |A^dagger r|^2 are summed while the operator writes, where it can, and cost a field each where not.
SolveReport conjugate_gradient_normal(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                                      const CgSpec& spec);

enum class CgForm { hermitian, normal_equations };

/// The recursion, in the storage of A. With s = r (hermitian) or A^dagger r (normal equations), q = A p and
/// E = <p, A p> or |A p|^2:
///   alpha = |s|^2 / E;  r -= alpha q;  x += alpha p;  beta = |s'|^2 / |s|^2;  p = s' + beta p
/// After a reliable update the new direction is made conjugate to the last one with the q at hand:
///   c = -<q, A s> / E;  p = s + c p;  q = A s + c q;  alpha = <s, p> / E
class ConjugateGradient final : public KrylovMethod {
 public:
  /// is_updated: run() returns for reliable updates, and goes on after them as they do.
  ConjugateGradient(const LinearOperator& A, int rhs, CgForm form, bool is_updated);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;
  void forget(int column) override { has_direction_[size_t(column)] = false; }

 private:
  const SpinorField& gradient(const SpinorField& r) const { return gradient_ ? *gradient_ : r; }
  Coefficients update_gradient(const SpinorField& r, const Coefficients& residual2, SolveCost& cost);
  Coefficients energy(SolveCost& cost) const;
  Coefficients apply_to_direction(SolveCost& cost);
  Coefficients resume(const SpinorField& s, SolveProgress& progress);
  Coefficients step_lengths(const Coefficients& numerator, SolveProgress& progress) const;

  const LinearOperator& A_;
  CgForm form_;
  SpinorField direction_, product_;      ///< p, q = A p
  std::optional<SpinorField> gradient_;  ///< s, normal equations only
  std::optional<SpinorField> resumed_;   ///< A s, with reliable updates only
  Coefficients gradient2_, energy_;      ///< |s|^2, E
  std::vector<bool> has_direction_;      ///< p and q of the last run are of use
};

}  // namespace trellis
