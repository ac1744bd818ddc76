#pragma once
/// A(V) is a hermitian positive operator of links V, as rational actions see it.
#include <memory>
#include <optional>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_operator.hpp"
#include "trellis/field/link_derivative.hpp"
#include "trellis/solver/solve_report.hpp"

namespace trellis {

struct SolveCount;  // monomial.hpp

/// It says how a solve by factors goes, and where it counts what it made for that.
struct FactorSolve {
  double tolerance;  ///< it bounds |b - (A + shift) x| / |b|
  double time;       ///< it is that of the molecular dynamics
  SolveCount* count;
  double shift = 0;  ///< it is not negative
};

class SquaredOperator {
 public:
  virtual ~SquaredOperator() = default;
  /// Makes A that of these links from here on; `version` tells whether they are new. Collective.
  virtual void set_links(const GaugeField& V, int64_t version) = 0;
  /// Returns A. @pre set_links()
  virtual LinearOperatorPtr op() const = 0;
  /// Returns A in another storage, made once for each set of links.
  virtual LinearOperatorPtr converted_op(Precision precision) = 0;
  /// Returns S with A = S^dagger S. Throws NotAvailable where A is not built like that.
  virtual const LinearOperator& root() const;
  /// Begins a new trajectory: what is prepared for solves is forgotten. Collective.
  virtual void begin_trajectory() {}
  /// Computes x = (A + shift)^-1 b by the factors of A + shift; returns nothing where the operator has
  /// nothing better than conjugate gradients.
  /// Collective.
  virtual std::optional<SolveReport> solve_by_factors(SpinorField& x, const SpinorField& b,
                                                      const FactorSolve& how);
  /// Adds the derivative of sum_k c_k X_k^dagger A X_k at fixed X_k to G. Collective.
  virtual void add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                              const std::vector<double>& c) = 0;
  /// Returns the flops of one add_derivative on all ranks.
  virtual double derivative_flops(int fields) const = 0;
  /// Returns its must-move bytes on all ranks.
  virtual double derivative_bytes(int fields) const = 0;
};

inline const LinearOperator& SquaredOperator::root() const {
  throw NotAvailable("this operator is not a square: take a rational action");
}

inline std::optional<SolveReport> SquaredOperator::solve_by_factors(SpinorField&, const SpinorField&,
                                                                    const FactorSolve&) {
  return {};
}

using SquaredOperatorPtr = std::shared_ptr<SquaredOperator>;

}  // namespace trellis
