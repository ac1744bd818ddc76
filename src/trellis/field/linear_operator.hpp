#pragma once
/// A solver sees a linear operator on fermion fields.
#include <memory>
#include <string>

#include "trellis/field/cost.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

class SchurOperator;  // field/schur_operator.hpp

/// The forms of M = A - H/2 are A_ee - 1/4 H_eo A_oo^-1 H_oe and 1 - 1/4 A_ee^-1 H_eo A_oo^-1 H_oe.
enum class SchurForm { asymmetric, symmetric };

/// An application forms these global sums beside its result: the members say which of them are wanted, and
/// have their values, one for each column.
struct ColumnSums {
  bool wants_norm2 = false;     ///< |out|^2 is wanted
  bool wants_real_dot = false;  ///< Re <in, out> is wanted, where domain and range are the same
  Coefficients norm2 = {}, real_dot = {};
  Cost cost = {};  ///< these sums cost this, beyond the application without them

  /// Books one sum that took `fields` reads of `field` and so many launches for each parity.
  void book(const SpinorField& field, int fields, int launches);
};

/// An operator is a linear map from fields of one kind, its domain, to fields of one kind, its range. The two
/// may differ (a restriction to one parity or to a coarser lattice); solvers take square operators only.
///
/// All calls of apply and apply_dagger are collective: every rank makes them, in the same order. An operator
/// holds workspaces and halos, which it shares with the operators that were made of the same matrix: one of
/// them is applied at a time. Several threads of a process may apply operators that share nothing, each its
/// own, where one process has the whole lattice; where ranks divide it, only the main thread may (MPI is
/// initialised for that). domain(), range() and cost() may be asked by any thread and on any rank alone.
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;
  /// Computes out = A in, and the sums that are wanted.
  /// @pre in and out are different fields of the domain and the range, with the same number of columns
  void apply(SpinorField& out, const SpinorField& in, ColumnSums& sums) const;
  void apply(SpinorField& out, const SpinorField& in) const;
  /// Computes out = A^dagger in. @pre in is of the range, out of the domain
  void apply_dagger(SpinorField& out, const SpinorField& in, ColumnSums& sums) const;
  void apply_dagger(SpinorField& out, const SpinorField& in) const;
  virtual bool is_hermitian() const { return false; }
  /// Returns true if it is declared to have no eigenvalue below 0. @pre is_hermitian()
  virtual bool is_positive() const { return false; }
  /// Returns true if A (x + c y) = A x + c A y, up to rounding, which does not hold for solvers that are used
  /// as operators.
  virtual bool is_linear() const { return true; }
  /// Returns the only number of right-hand sides that it takes; 0 stands for any.
  virtual int columns() const { return 0; }

  /// Say how fields of so many columns (right-hand sides) look that the operator takes and gives, in its
  /// storage, and on which lattices they lie.
  virtual FieldSpec domain(int columns = 1) const = 0;
  virtual FieldSpec range(int columns = 1) const { return domain(columns); }
  virtual const LatticePtr& domain_lattice() const = 0;
  virtual const LatticePtr& range_lattice() const { return domain_lattice(); }
  bool is_square() const;
  /// These make zero fields of the domain and of the range.
  SpinorField make_field(int columns = 1) const { return {domain_lattice(), domain(columns)}; }
  SpinorField make_range_field(int columns = 1) const { return {range_lattice(), range(columns)}; }

  /// Returns the cost of one apply() on so many columns together, without sums.
  virtual Cost cost(int columns) const = 0;
  /// Returns the cost of one apply_dagger().
  virtual Cost dagger_cost(int columns) const { return cost(columns); }

  /// Returns the same operator in another storage.
  virtual std::shared_ptr<const LinearOperator> converted(Precision precision) const = 0;
  /// Returns A + shift where that costs no more than A itself, else null (solvers then add shift times the
  /// field).
  virtual std::shared_ptr<const LinearOperator> with_shift(double /*shift*/) const { return nullptr; }
  /// Returns the system on the even sites whose solution gives that of A x = b, and null where there is none.
  /// Staggered operators have one for both forms.
  virtual std::shared_ptr<const SchurOperator> schur(SchurForm /*form*/) const { return nullptr; }
  virtual std::string name() const = 0;

 private:
  /// Computes out = A in, or A^dagger in; the fields were checked. An operator that can form a sum that is
  /// wanted more cheaply than by a pass over the fields does so, and books it; those that it leaves empty are
  /// formed for it.
  virtual void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const = 0;
  void run(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const;
};

using LinearOperatorPtr = std::shared_ptr<const LinearOperator>;

/// Throws BadArgument, with `what` (e.g. "the source"), where a field is not of the domain of A with its
/// number of columns.
void require_in_domain(const LinearOperator& A, const SpinorField& field, const char* what);
void require_in_range(const LinearOperator& A, const SpinorField& field, const char* what);
/// Throws BadArgument where A cannot be the operator of a system A x = b.
void require_square(const LinearOperator& A);

}  // namespace trellis
