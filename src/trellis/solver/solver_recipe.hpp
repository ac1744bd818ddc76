#pragma once
/// A kind of solver says and does this; others call solve.hpp.
#include <memory>
#include <optional>
#include <string>

#include "trellis/base/precision.hpp"
#include "trellis/solver/operator_copies.hpp"
#include "trellis/solver/solve_report.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

class ApproximateInverse;  // preconditioner.hpp

/// It is immutable: solve() and inside() make everything that a solve needs.
class SolverRecipe {
 public:
  virtual ~SolverRecipe() = default;
  /// Names itself in words, as a solver of A x = b: "cg on the normal equations, half precision inside".
  virtual std::string name(const LinearOperator& A) const = 0;
  virtual SolveLimits limits() const = 0;
  virtual SolverSpec limited(const SolveLimits& limits) const = 0;
  /// Returns the next surer solver of the same system, where this one is stuck; there is none beyond CG in
  /// double.
  virtual std::optional<SolverSpec> surer() const { return std::nullopt; }
  /// Returns the storage in which it iterates, where that is not the operator's.
  virtual std::optional<Precision> storage() const { return std::nullopt; }
  /// Says whether many right-hand sides are solved in batches of columns_per_batch(); else it gets all at
  /// once.
  virtual bool takes_batches() const { return true; }
  /// Returns the right-hand sides of a batch; 0 stands for columns_per_batch().
  virtual int columns_at_a_time() const { return 0; }
  /// Says whether it is linear, hermitian and positive as a preconditioner.
  virtual bool is_linear_hermitian_positive() const { return false; }
  /// Solves A x = b to a true residual, from the first guess x.
  /// @pre x and b are in double, alike, and of A's domain
  virtual SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const = 0;
  /// Makes what stands inside another solver: z ~ A^-1 r for `columns` right-hand sides, in A's storage. The
  /// result refers to A.
  virtual std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const = 0;
};

}  // namespace trellis
