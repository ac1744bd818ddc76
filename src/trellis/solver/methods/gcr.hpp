#pragma once
/// Generalised conjugate residuals, with restarts, solve for many right-hand sides.
#include <functional>

#include "trellis/field/many_fields.hpp"
#include "trellis/solver/preconditioner.hpp"

namespace trellis {

/// It solves A x = b with any A whose hermitian part is definite (else it may stagnate, and says so); the
/// iterates are those of restarted (F)GMRES. A preconditioner may be another one at each step, a solver for
/// example. Columns that are done are taken out of the batch, where enough of them are (Gcr::narrow).
/// The traffic of step k of a cycle (k from 0) is 1 apply + 10 + 2 k fields, 2 k + 3 more where Gram-Schmidt
/// is done twice, and 3 fields a step for x at the cycle's end. The workspace has 2 restart_length fields,
/// made as cycles need them.
struct GcrSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  int restart_length = 16;
  bool records_history = false;
  bool fallback = true;
  int iterations = 0;
  Preconditioner preconditioner = {};
  std::vector<double> tightened = {};  ///< see SolveLimits
  StagnationRule stagnation = unsure_method;
  /// A step has one global sum instead of four: norms follow from those before by subtraction, which loses
  /// digits. Loose solves inside other solvers can afford that.
  bool has_one_sum = false;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

/// This is the recursion, in the storage of A (S. C. Eisenstat, H. C. Elman, M. H. Schultz, SIAM J. Numer.
/// Anal. 20 (1983) 345, with x formed at the end of a cycle; K is the preconditioner):
///   p_k = K r;  z_k = A p_k - sum_{j<k} c_jk z_j,  c_jk = <z_j, A p_k> / |z_j|^2, twice where need be
///   alpha_k = <z_k, r> / |z_k|^2;  r -= alpha_k z_k
///   x += sum_k y_k p_k,  y_j = alpha_j - sum_{k>j} c_jk y_k
class Gcr final : public KrylovMethod {
 public:
  /// Makes the preconditioner of a batch of so many columns.
  using MakeInverse = std::function<std::unique_ptr<ApproximateInverse>(int columns)>;
  /// @param make_K is empty where there is no preconditioner
  Gcr(const LinearOperator& A, int rhs, int restart_length, MakeInverse make_K = {},
      bool has_one_sum = false);
  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override;

 private:
  /// Goes on with the given columns of another one, whose `steps` steps of this cycle it takes over.
  Gcr(const Gcr& wide, const std::vector<size_t>& columns, int steps);
  void go_on(int steps, SpinorField& x, SpinorField& r, SolveProgress& progress);
  /// Where a quarter of the columns is done, the others go on in fields of their own, which the hop, the
  /// preconditioner and Gram-Schmidt then pass through alone. No column knows the others, so that no bit
  /// changes.
  bool narrow(int steps, SpinorField& x, SpinorField& r, SolveProgress& progress);
  SolveColumn& column(SolveProgress& progress, size_t i) const { return progress.columns[places_[i]]; }
  bool any_active(const SolveProgress& progress) const;
  /// Books |r|^2 of this one's columns.
  void record(const Coefficients& residual2, SolveProgress& progress) const;
  bool step(int k, SpinorField& r, SolveProgress& progress);
  void make_room(int k, int rhs);
  void apply(int k, SpinorField& r, SolveProgress& progress);
  Coefficients orthogonalise(int k, SolveProgress& progress);
  /// Does a step with one sum of all products, |z_k|^2 = |A p_k|^2 - sum_j |<z_j, A p_k>|^2 / |z_j|^2 and the
  /// same for r; Gram-Schmidt is done again, with another sum, where little is left.
  bool step_with_one_sum(int k, SpinorField& r, SolveProgress& progress);
  struct Products {
    FieldCoefficients with_earlier;  ///< they are c_jk
    Coefficients norm2;              ///< it is |A p_k|^2 before Gram-Schmidt
    ComplexCoefficients with_r;      ///< it is <z_k, r>
    Coefficients left;               ///< it is |z_k|^2 after it
  };
  Products products(int k, const SpinorField& r, SolveProgress& progress) const;
  /// Computes x += sum_k y_k p_k for the columns that take part.
  void update_solution(int steps, SpinorField& x, SolveProgress& progress,
                       const std::vector<bool>& takes_part) const;
  const LinearOperator& A_;
  int restart_length_;
  bool has_one_sum_;
  MakeInverse make_K_;
  std::unique_ptr<ApproximateInverse> K_;
  std::vector<size_t> places_;                    ///< its columns have these places among those of the solve
  Coefficients before_;                           ///< it is |r|^2 of the columns at the start of a cycle
  std::vector<SpinorField> directions_, images_;  ///< they are p_k and z_k
  std::vector<Coefficients> image2_;              ///< they are |z_k|^2
  std::vector<ComplexCoefficients> alpha_;        ///< the index is [k][rhs]
  std::vector<std::vector<ComplexCoefficients>> overlap_;  ///< they are c_jk as [k][j][rhs]
};

}  // namespace trellis
