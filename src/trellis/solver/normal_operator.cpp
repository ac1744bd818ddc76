#include "trellis/solver/normal_operator.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

NormalOperator::NormalOperator(LinearOperatorPtr A) : A_{std::move(A)} {
  TRELLIS_REQUIRE(A_ != nullptr, "NormalOperator needs an operator");
}

SpinorField& NormalOperator::workspace(int rhs) const {
  auto& field = workspace_[rhs];
  if (!field) field = std::make_unique<SpinorField>(A_->make_field(rhs));
  return *field;
}

void NormalOperator::apply(SpinorField& out, const SpinorField& in) const {
  TRELLIS_REQUIRE(&out != &in, "NormalOperator cannot work in place");
  SpinorField& A_in = workspace(in.rhs());
  A_->apply(A_in, in);
  A_->apply_dagger(out, A_in);
}

Coefficients NormalOperator::apply_with_energy(SpinorField& out, const SpinorField& in) const {
  TRELLIS_REQUIRE(&out != &in, "NormalOperator cannot work in place");
  SpinorField& A_in = workspace(in.rhs());
  Coefficients energy = A_->apply_norm2(A_in, in);
  A_->apply_dagger(out, A_in);
  return energy;
}

LinearOperatorPtr NormalOperator::converted(Precision precision) const {
  return std::make_shared<NormalOperator>(A_->converted(precision));
}

ShiftedOperator::ShiftedOperator(LinearOperatorPtr A, double shift) : A_{std::move(A)}, shift_{shift} {
  TRELLIS_REQUIRE(A_ != nullptr, "ShiftedOperator needs an operator");
  TRELLIS_REQUIRE(std::isfinite(shift), "the shift of ", A_->name(), " is ", shift);
  fused_ = A_->with_shift(shift);
}

void ShiftedOperator::apply(SpinorField& out, const SpinorField& in) const {
  if (fused_) return fused_->apply(out, in);
  A_->apply(out, in);
  combine(out, 1.0, out, shift_, in);
}

Coefficients ShiftedOperator::apply_with_energy(SpinorField& out, const SpinorField& in) const {
  if (fused_) return trellis::apply_with_energy(*fused_, out, in);
  apply(out, in);
  return real_dot_each(in, out);
}

void ShiftedOperator::apply_dagger(SpinorField& out, const SpinorField& in) const {
  if (fused_) return fused_->apply_dagger(out, in);
  A_->apply_dagger(out, in);
  combine(out, 1.0, out, shift_, in);
}

/// Two operations on each real, where they are passes of their own.
double ShiftedOperator::flops() const {
  if (fused_) return fused_->flops();
  const SpinorField f = A_->make_field(1);
  return A_->flops() + 2.0 * double(f.sites()) * f.reals();
}

LinearOperatorPtr ShiftedOperator::converted(Precision precision) const {
  return std::make_shared<ShiftedOperator>(A_->converted(precision), shift_);
}

std::string ShiftedOperator::name() const { return message(A_->name(), " + ", shift_); }

ShiftedColumns::ShiftedColumns(LinearOperatorPtr A, Coefficients shifts)
    : A_{std::move(A)}, shifts_{std::move(shifts)} {
  TRELLIS_REQUIRE(A_ != nullptr, "ShiftedColumns needs an operator");
  for (const double shift : shifts_)
    TRELLIS_REQUIRE(std::isfinite(shift), "a shift of ", A_->name(), " is ", shift);
}

void ShiftedColumns::add_shifts(SpinorField& out, const SpinorField& in) const {
  TRELLIS_REQUIRE(size_t(in.rhs()) == shifts_.size(), shifts_.size(), " shifts of ", A_->name(), " for ",
                  in.rhs(), " right-hand sides");
  combine(out, Coefficients(shifts_.size(), 1.0), out, shifts_, in);
}

void ShiftedColumns::apply(SpinorField& out, const SpinorField& in) const {
  A_->apply(out, in);
  add_shifts(out, in);
}

void ShiftedColumns::apply_dagger(SpinorField& out, const SpinorField& in) const {
  A_->apply_dagger(out, in);
  add_shifts(out, in);
}

/// Two operations on each real.
double ShiftedColumns::flops() const {
  const SpinorField f = A_->make_field(1);
  return A_->flops() + 2.0 * double(f.sites()) * f.reals();
}

LinearOperatorPtr ShiftedColumns::converted(Precision precision) const {
  return std::make_shared<ShiftedColumns>(A_->converted(precision), shifts_);
}

}  // namespace trellis
