#pragma once
/// A method applies this to its residuals: z = K r with K ~ A^-1.
#include <concepts>
#include <memory>
#include <string>
#include <variant>

#include "trellis/base/error.hpp"
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/operator_copies.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// It is a preconditioner at work, for a number of columns and a storage. It need not be linear.
class ApproximateInverse {
 public:
  virtual ~ApproximateInverse() = default;
  /// Computes z = K r for each column, which knows nothing of the others. @pre z is not r; both are of A's
  /// kind
  virtual void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) = 0;
};

/// It is a solver of an operator of its own, which need not be the one that it preconditions (another mass,
/// say).
struct SolverOfOperator {
  SolverSpec solver;
  LinearOperatorPtr A;
};

/// It is the value in a spec: nothing, a linear operator K, a solver of the operator that is being solved, or
/// a solver of another operator on the same fields.
class Preconditioner {
 public:
  Preconditioner() = default;
  template <class Spec>
  requires std::convertible_to<Spec, SolverSpec> Preconditioner(
      const Spec& solver)  // NOLINT(google-explicit-constructor)
      : content_{SolverSpec(solver)} {}
  /// @pre K is not null
  template <class Operator>
  requires std::derived_from<Operator, LinearOperator> Preconditioner(
      std::shared_ptr<Operator> K)  // NOLINT(google-explicit-constructor)
      : content_{LinearOperatorPtr(std::move(K))} {
    TRELLIS_REQUIRE(std::get<LinearOperatorPtr>(content_), "a preconditioner is a null pointer");
  }
  Preconditioner(SolverOfOperator solver)
      : content_{std::move(solver)} {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !std::holds_alternative<std::monostate>(content_); }
  /// Returns "mr, 8 iterations", for instance.
  std::string name(const LinearOperator& A) const;
  /// Returns ", preconditioned by mr, 8 iterations", for instance, and nothing without one.
  std::string words(const LinearOperator& A) const;
  /// Throws BadArgument unless it is declared linear, hermitian and positive, as conjugate gradients need.
  void require_fit_for_cg(const LinearOperator& A) const;
  /// Returns null where there is none. Throws BadArgument for one of other fields. The result refers to A.
  std::unique_ptr<ApproximateInverse> bind(const OperatorCopies& A, int columns) const;

 private:
  std::variant<std::monostate, LinearOperatorPtr, SolverSpec, SolverOfOperator> content_;
};

/// Throws BadArgument unless K acts on fields of A's kind, whatever their storage; `what` K is in words.
void require_same_fields(const std::string& what, const LinearOperator& K, const LinearOperator& A,
                         int columns);

}  // namespace trellis
