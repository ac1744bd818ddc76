#pragma once
/// Conjugate gradients solve for hermitian positive operators and on the normal equations: many right-hand
/// sides at a time, each with its own coefficients and the same bits as alone.
#include <optional>

#include "trellis/solver/preconditioner.hpp"

namespace trellis {

/// It solves A x = b with A hermitian and positive, and else with any A without zero modes by conjugate
/// gradients on A^dagger A x = A^dagger b, in the form that keeps r = b - A x and its image A^dagger r
/// (CGLS), so that it stops on the residual asked for. A direction of negative curvature ends it as
/// broke_down.
/// The traffic of an iteration is 1 apply + 10 fields (p.Ap 2, r and |r|^2 3, x and p 5); A^dagger A: 8. On
/// the normal equations it is 1 apply, 1 apply_dagger + 8 fields (r and |r|^2 3, x and p 5); |A p|^2 and
/// |A^dagger r|^2 are summed while the operator writes, where it can, and cost a field each where not.
/// A preconditioner is one of A, on the normal equations of A^dagger A; it has to be declared linear,
/// hermitian and positive.
struct CgSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  bool records_history = false;
  bool fallback = true;
  int iterations = 0;
  Preconditioner preconditioner = {};
  std::vector<double> tightened = {};  ///< see SolveLimits

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

enum class CgForm { hermitian, normal_equations };

/// This is the recursion, in the storage of A. With s = r (hermitian) or A^dagger r (normal equations), z = K
/// s with the preconditioner K (z = s without one), q = A p and E = <p, A p> or |A p|^2 it is
///   alpha = <s, z> / E;  r -= alpha q;  x += alpha p;  beta = <s', z'> / <s, z>;  p = z' + beta p
/// After a reliable update the new direction is made conjugate to the last one with the q at hand:
///   c = -<q, A z> / E (hermitian: -<q, z> / E);  p = z + c p;  q = A z + c q;  alpha = <s, p> / E
class ConjugateGradient final : public KrylovMethod {
 public:
  /// With is_updated run() returns for reliable updates, and goes on after them as they do.
  ConjugateGradient(const LinearOperator& A, int rhs, CgForm form, bool is_updated,
                    std::unique_ptr<ApproximateInverse> K = nullptr);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;
  void forget(int column) override { has_direction_[size_t(column)] = false; }

 private:
  const SpinorField& gradient(const SpinorField& r) const { return gradient_ ? *gradient_ : r; }
  const SpinorField& direction_part(const SpinorField& s) const { return K_ ? *step_ : s; }
  Coefficients update_gradient(const SpinorField& r, const Coefficients& residual2, SolveCost& cost);
  Coefficients precondition(const SpinorField& r, const Coefficients& gradient2, SolveCost& cost);
  Coefficients energy(SolveCost& cost) const;
  Coefficients apply_to_direction(SolveCost& cost);
  Coefficients resume(const SpinorField& s, const SpinorField& z, SolveProgress& progress);
  Coefficients step_lengths(const Coefficients& numerator, SolveProgress& progress) const;

  const LinearOperator& A_;
  CgForm form_;
  SpinorField direction_, product_;      ///< they are p and q = A p
  std::optional<SpinorField> gradient_;  ///< it is s, for the normal equations only
  std::optional<SpinorField> resumed_;   ///< it is A s, with reliable updates only
  std::unique_ptr<ApproximateInverse> K_;
  std::optional<SpinorField> step_;  ///< it is z, with a preconditioner only
  Coefficients gradient2_, energy_;  ///< they are <s, z> and E
  std::vector<bool> has_direction_;  ///< p and q of the last run are of use
};

}  // namespace trellis
