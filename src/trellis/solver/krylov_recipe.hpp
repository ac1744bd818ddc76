#pragma once
/// Conjugate gradients, BiCGStab, GCR and MR share this as solvers: the residual correction outside, and one
/// run from zero where they stand inside another solver.
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/solver_recipe.hpp"
#include "trellis/solver/stagnation.hpp"

namespace trellis {

class KrylovRecipe : public SolverRecipe {
 public:
  /// Makes the recursion for `columns` right-hand sides in A's storage. With `is_updated` run() returns for
  /// reliable updates, where the method has them. The result refers to A.
  virtual std::unique_ptr<KrylovMethod> make_method(const OperatorCopies& A, int columns,
                                                    bool is_updated) const = 0;
  /// Says whether it keeps its direction across reliable updates; others begin anew (defect correction).
  virtual bool has_reliable_updates() const { return false; }
  /// Says when it is given up, with residuals in double or in low storage.
  virtual StagnationRule stagnation(bool /*is_low*/) const { return unsure_method; }

  std::optional<SolverSpec> surer() const override;
  SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const override;
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override;

 protected:
  /// Returns ", 8 iterations" where their number is fixed.
  std::string iterations_in_words() const;
};

/// Takes the limits out of a spec that has their fields; with_limits() puts them back.
template <class Spec>
SolveLimits limits_of(const Spec& s) {
  return {s.tolerance, s.max_iterations, s.records_history, s.fallback, s.iterations, s.tightened};
}
template <class Spec>
Spec with_limits(Spec s, const SolveLimits& l) {
  s.tolerance = l.tolerance;
  s.max_iterations = l.max_iterations;
  s.records_history = l.records_history;
  s.fallback = l.fallback;
  s.iterations = l.iterations;
  s.tightened = l.tightened;
  return s;
}

/// Makes what a recursion does inside another solver: one run from z = 0 until it says that |r| has dropped
/// by the tolerance, or so many iterations. It does not compute true residuals.
std::unique_ptr<ApproximateInverse> one_run(std::unique_ptr<KrylovMethod> method, const LinearOperator& A,
                                            int columns, const SolveLimits& limits);

}  // namespace trellis
