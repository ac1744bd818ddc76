#pragma once
/// Hermitian operators made of others: A^dagger A, and A + shift.
#include <map>
#include <memory>

#include "trellis/field/energy.hpp"

namespace trellis {

/// A^dagger A: hermitian, positive where A has no zero mode.
class NormalOperator final : public LinearOperator, public EnergySum {
 public:
  /// @pre A is not null
  explicit NormalOperator(LinearOperatorPtr A);

  void apply(SpinorField& out, const SpinorField& in) const override;
  void apply_dagger(SpinorField& out, const SpinorField& in) const override { apply(out, in); }
  /// The energy is |A in|^2, which A may sum while it writes.
  Coefficients apply_with_energy(SpinorField& out, const SpinorField& in) const override;
  int energy_fields() const override { return 0; }
  bool is_hermitian() const override { return true; }
  bool is_positive() const override { return true; }
  SpinorField make_field(int rhs = 1) const override { return A_->make_field(rhs); }
  double flops() const override { return 2 * A_->flops(); }
  double conventional_flops() const override { return 2 * A_->conventional_flops(); }
  double bytes(int rhs) const override { return 2 * A_->bytes(rhs); }
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override { return "normal operator of " + A_->name(); }
  const LinearOperator& factor() const { return *A_; }

 private:
  SpinorField& workspace(int rhs) const;
  LinearOperatorPtr A_;
  mutable std::map<int, std::unique_ptr<SpinorField>> workspace_;  // by number of right-hand sides
};

/// A + shift, shift real: at no cost where A has with_shift().
class ShiftedOperator final : public LinearOperator, public EnergySum {
 public:
  /// @pre A is not null; shift is finite
  ShiftedOperator(LinearOperatorPtr A, double shift);

  void apply(SpinorField& out, const SpinorField& in) const override;
  void apply_dagger(SpinorField& out, const SpinorField& in) const override;
  bool is_hermitian() const override { return A_->is_hermitian(); }
  bool is_positive() const override { return shift_ >= 0 && A_->is_positive(); }
  SpinorField make_field(int rhs = 1) const override { return A_->make_field(rhs); }
  double flops() const override;
  double bytes(int rhs) const override { return A_->bytes(rhs); }
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;
  Coefficients apply_with_energy(SpinorField& out, const SpinorField& in) const override;
  int energy_fields() const override { return fused_ ? trellis::energy_fields(*fused_) : 2; }
  double shift() const { return shift_; }

 private:
  LinearOperatorPtr A_, fused_;
  double shift_;
};

/// A + shifts[i] on right-hand side i.
class ShiftedColumns final : public LinearOperator {
 public:
  /// @pre A is not null; shifts are finite
  ShiftedColumns(LinearOperatorPtr A, Coefficients shifts);

  /// @pre as many right-hand sides as shifts
  void apply(SpinorField& out, const SpinorField& in) const override;
  void apply_dagger(SpinorField& out, const SpinorField& in) const override;
  bool is_hermitian() const override { return A_->is_hermitian(); }
  int columns() const override { return int(shifts_.size()); }
  SpinorField make_field(int rhs = 1) const override { return A_->make_field(rhs); }
  double flops() const override;
  double bytes(int rhs) const override { return A_->bytes(rhs); }
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override { return A_->name() + " with shifts"; }

 private:
  void add_shifts(SpinorField& out, const SpinorField& in) const;
  LinearOperatorPtr A_;
  Coefficients shifts_;
};

}  // namespace trellis
