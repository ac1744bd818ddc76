#include "trellis/solver/normal_operator.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
void multiply_by(const LinearOperator& A, SpinorField& out, const SpinorField& in, bool is_dagger) {
  is_dagger ? A.apply_dagger(out, in) : A.apply(out, in);
}

/// Returns the cost of out += shift in as a pass of its own.
Cost cost_of_shift(const LinearOperator& A, int columns) {
  return cost_of_passes(*A.domain_lattice(), A.domain(columns), 3, 2, 1, 0);
}
}  // namespace

NormalOperator::NormalOperator(LinearOperatorPtr A) : A_{std::move(A)} {
  TRELLIS_REQUIRE(A_ != nullptr, "NormalOperator needs an operator");
}

SpinorField& NormalOperator::workspace(int columns) const {
  auto& field = workspace_[columns];
  if (!field) field = std::make_unique<SpinorField>(A_->make_range_field(columns));
  return *field;
}

void NormalOperator::multiply(SpinorField& out, const SpinorField& in, bool, ColumnSums& sums) const {
  SpinorField& A_in = workspace(in.rhs());
  ColumnSums of_A{.wants_norm2 = sums.wants_real_dot}, of_dagger{.wants_norm2 = sums.wants_norm2};
  A_->apply(A_in, in, of_A);
  A_->apply_dagger(out, A_in, of_dagger);
  sums.real_dot = std::move(of_A.norm2);
  sums.norm2 = std::move(of_dagger.norm2);
  sums.cost = of_A.cost + of_dagger.cost;
}

LinearOperatorPtr NormalOperator::converted(Precision precision) const {
  return std::make_shared<NormalOperator>(A_->converted(precision));
}

ShiftedOperator::ShiftedOperator(LinearOperatorPtr A, double shift) : A_{std::move(A)}, shift_{shift} {
  TRELLIS_REQUIRE(A_ != nullptr, "ShiftedOperator needs an operator");
  TRELLIS_REQUIRE(std::isfinite(shift), "the shift of ", A_->name(), " is ", shift);
  require_square(*A_);
  fused_ = A_->with_shift(shift);
}

void ShiftedOperator::multiply(SpinorField& out, const SpinorField& in, bool is_dagger,
                               ColumnSums& sums) const {
  if (fused_) return is_dagger ? fused_->apply_dagger(out, in, sums) : fused_->apply(out, in, sums);
  multiply_by(*A_, out, in, is_dagger);
  combine(out, 1.0, out, shift_, in);
}

Cost ShiftedOperator::cost(int columns) const {
  return fused_ ? fused_->cost(columns) : A_->cost(columns) + cost_of_shift(*A_, columns);
}

Cost ShiftedOperator::dagger_cost(int columns) const {
  return fused_ ? fused_->dagger_cost(columns) : A_->dagger_cost(columns) + cost_of_shift(*A_, columns);
}

LinearOperatorPtr ShiftedOperator::converted(Precision precision) const {
  return std::make_shared<ShiftedOperator>(A_->converted(precision), shift_);
}

std::string ShiftedOperator::name() const { return message(A_->name(), " + ", shift_); }

ShiftedColumns::ShiftedColumns(LinearOperatorPtr A, Coefficients shifts)
    : A_{std::move(A)}, shifts_{std::move(shifts)} {
  TRELLIS_REQUIRE(A_ != nullptr, "ShiftedColumns needs an operator");
  require_square(*A_);
  for (const double shift : shifts_)
    TRELLIS_REQUIRE(std::isfinite(shift), "a shift of ", A_->name(), " is ", shift);
}

void ShiftedColumns::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const {
  TRELLIS_REQUIRE(size_t(in.rhs()) == shifts_.size(), shifts_.size(), " shifts of ", A_->name(), " for ",
                  in.rhs(), " right-hand sides");
  multiply_by(*A_, out, in, is_dagger);
  combine(out, Coefficients(shifts_.size(), 1.0), out, shifts_, in);
}

Cost ShiftedColumns::cost(int columns) const { return A_->cost(columns) + cost_of_shift(*A_, columns); }

Cost ShiftedColumns::dagger_cost(int columns) const {
  return A_->dagger_cost(columns) + cost_of_shift(*A_, columns);
}

LinearOperatorPtr ShiftedColumns::converted(Precision precision) const {
  return std::make_shared<ShiftedColumns>(A_->converted(precision), shifts_);
}

}  // namespace trellis
