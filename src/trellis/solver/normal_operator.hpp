#pragma once
/// Hermitian operators are made of others: A^dagger A, and A + shift.
#include <map>
#include <memory>

#include "trellis/field/linear_operator.hpp"

namespace trellis {

/// It is A^dagger A: hermitian, and positive where A has no zero mode. A may be rectangular.
class NormalOperator final : public LinearOperator {
 public:
  /// @pre A is not null
  explicit NormalOperator(LinearOperatorPtr A);

  bool is_hermitian() const override { return true; }
  bool is_positive() const override { return true; }
  FieldSpec domain(int columns = 1) const override { return A_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return A_->domain_lattice(); }
  Cost cost(int columns) const override { return A_->cost(columns) + A_->dagger_cost(columns); }
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override { return "normal operator of " + A_->name(); }
  const LinearOperator& factor() const { return *A_; }

 private:
  /// Computes <in, out> as |A in|^2, which A may sum while it writes.
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  SpinorField& workspace(int columns) const;
  LinearOperatorPtr A_;
  mutable std::map<int, std::unique_ptr<SpinorField>> workspace_;  // the key is the number of columns
};

/// It is A + shift with a real shift, at no cost where A has with_shift().
class ShiftedOperator final : public LinearOperator {
 public:
  /// @pre A is square and not null; shift is finite
  ShiftedOperator(LinearOperatorPtr A, double shift);

  bool is_hermitian() const override { return A_->is_hermitian(); }
  bool is_positive() const override { return shift_ >= 0 && A_->is_positive(); }
  FieldSpec domain(int columns = 1) const override { return A_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return A_->domain_lattice(); }
  Cost cost(int columns) const override;
  Cost dagger_cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;
  double shift() const { return shift_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  LinearOperatorPtr A_, fused_;
  double shift_;
};

/// It is A + shifts[i] on right-hand side i.
class ShiftedColumns final : public LinearOperator {
 public:
  /// @pre A is square and not null; shifts are finite. Fields have as many columns as there are shifts.
  ShiftedColumns(LinearOperatorPtr A, Coefficients shifts);

  bool is_hermitian() const override { return A_->is_hermitian(); }
  int columns() const override { return int(shifts_.size()); }
  FieldSpec domain(int columns = 1) const override { return A_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return A_->domain_lattice(); }
  Cost cost(int columns) const override;
  Cost dagger_cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override { return A_->name() + " with shifts"; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  LinearOperatorPtr A_;
  Coefficients shifts_;
};

}  // namespace trellis
