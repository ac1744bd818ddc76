#pragma once
/// A Schur operator is a system on the sites of one parity whose solution gives that of M x = b (even-odd
/// preconditioning).
#include "trellis/field/linear_operator.hpp"

namespace trellis {

class SchurOperator : public LinearOperator {
 public:
  /// Returns M, which acts on all sites.
  virtual std::shared_ptr<const LinearOperator> full() const = 0;
  /// Makes the right-hand side of the Schur system of M x = b. @pre b is full, source is of make_field()'s
  /// kind
  virtual void prepare_source(SpinorField& source, const SpinorField& b) const = 0;
  /// Makes the first guess of the Schur system from one of M x = b.
  virtual void prepare_guess(SpinorField& guess, const SpinorField& x) const = 0;
  /// Makes x (full) from the solution of the Schur system.
  virtual void reconstruct(SpinorField& x, const SpinorField& solution, const SpinorField& b) const = 0;
  /// These three have such costs, for so many right-hand sides.
  virtual Cost source_cost(int columns) const = 0;
  virtual Cost guess_cost(int columns) const { return copy_cost(columns); }
  virtual Cost reconstruction_cost(int columns) const = 0;
  /// Returns "even-odd (symmetric)", for instance, for reports.
  virtual std::string form_in_words() const = 0;

 protected:
  /// Returns the cost of a copy of the sites of the parity.
  Cost copy_cost(int columns) const { return cost_of_passes(*domain_lattice(), domain(columns), 2, 0, 0, 0); }
};

}  // namespace trellis
