#pragma once
/// What a solver sees: a linear operator on fermion fields.
#include <memory>
#include <string>

#include "trellis/field/linear_algebra.hpp"

namespace trellis {

class SchurOperator;  // field/schur_operator.hpp

/// Of M = A - H/2: A_ee - 1/4 H_eo A_oo^-1 H_oe, or 1 - 1/4 A_ee^-1 H_eo A_oo^-1 H_oe.
enum class SchurForm { asymmetric, symmetric };

class LinearOperator {
 public:
  virtual ~LinearOperator() = default;
  /// out = A in. @pre out and in are different fields of make_field()'s kind, with any number of right-hand
  /// sides.
  virtual void apply(SpinorField& out, const SpinorField& in) const = 0;
  /// out = A^dagger in
  virtual void apply_dagger(SpinorField& out, const SpinorField& in) const = 0;
  /// The same, and |out|^2 of each right-hand side: for operators that can sum while they write.
  virtual Coefficients apply_norm2(SpinorField& out, const SpinorField& in) const {
    apply(out, in);
    return norm2_each(out);
  }
  virtual Coefficients apply_dagger_norm2(SpinorField& out, const SpinorField& in) const {
    apply_dagger(out, in);
    return norm2_each(out);
  }
  virtual bool is_hermitian() const { return false; }
  /// It is declared to have no eigenvalue below 0. @pre is_hermitian()
  virtual bool is_positive() const { return false; }
  /// A (x + c y) = A x + c A y, up to rounding; not for solvers that are used as operators.
  virtual bool is_linear() const { return true; }
  /// The only number of right-hand sides that it takes; 0: any.
  virtual int columns() const { return 0; }
  /// A zero field of the operator's domain, in its storage.
  virtual SpinorField make_field(int rhs = 1) const = 0;
  /// Floating-point operations of one apply, all ranks, one right-hand side.
  virtual double flops() const = 0;
  /// The same as papers count them, where the field has a convention that is not the arithmetic done here.
  virtual double conventional_flops() const { return flops(); }
  /// Must-move bytes of one apply, all ranks, `rhs` right-hand sides together.
  virtual double bytes(int rhs) const = 0;
  /// The same operator in another storage.
  virtual std::shared_ptr<const LinearOperator> converted(Precision precision) const = 0;
  /// A + shift where that costs no more than A itself, else null (solvers then add shift times the field).
  virtual std::shared_ptr<const LinearOperator> with_shift(double /*shift*/) const { return nullptr; }
  /// The system on the even sites whose solution gives that of A x = b; null where there is none. Staggered
  /// operators have one for both forms.
  virtual std::shared_ptr<const SchurOperator> schur(SchurForm /*form*/) const { return nullptr; }
  virtual std::string name() const = 0;
};

using LinearOperatorPtr = std::shared_ptr<const LinearOperator>;

}  // namespace trellis
