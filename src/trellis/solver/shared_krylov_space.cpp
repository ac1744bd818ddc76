#include "trellis/solver/shared_krylov_space.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

SharedKrylovSpace::SharedKrylovSpace(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                                     const SpinorField& b, double claimed, int max_iterations,
                                     bool records_history)
    : progress(b.rhs(), max_iterations, records_history),
      base_{A},
      base_index_{size_t(std::min_element(shifts.begin(), shifts.end()) - shifts.begin())},
      residuals_(size_t(shifts.size() > 1 ? iterations_at_a_time : 2), b),
      product_{SpinorField::like(b)} {
  const size_t n = size_t(b.rhs());
  base_shift_ = shifts[base_index_];
  const double smallest = base_shift_;
  if (const LinearOperatorPtr shifted = base_shift_ != 0 ? A->with_shift(base_shift_) : nullptr) {
    base_ = shifted;
    base_shift_ = 0;
  }
  norm2_ = norm2_each(b);
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(norm2_[i]))
      throw NumericError(message("the source has a NaN or Inf in right-hand side ", i));
    SolveColumn& c = progress.columns[i];
    c.is_active = norm2_[i] > 0;
    c.target2 = claimed * claimed * norm2_[i];
    c.start2 = c.residual2 = norm2_[i];
  }
  for (const double shift : shifts) {
    shifts_.push_back({shift - smallest,
                       Coefficients(n, 1.0),
                       Coefficients(n, 1.0),
                       std::vector<bool>(n, false),
                       {},
                       true});
    directions_.push_back(b);
  }
  residual2_ = norm2_;
  alpha_.assign(n, 0.0);
  alpha_before_.assign(n, 1.0);
  beta_.assign(n, 0.0);
  progress.cost.add_linear_algebra(b, 3 + 2.0 * double(shifts.size()), 2, 1, 1);
}

/// Computes q = (A + shift) p and alpha = |r|^2 / <p, q>, which is 0 for columns that are done.
void SharedKrylovSpace::step_lengths() {
  const SpinorField& p = directions_[base_index_];
  const size_t n = alpha_.size();
  ColumnSums sums{.wants_real_dot = true};
  base_->apply(product_, p, sums);
  Coefficients& energy = sums.real_dot;
  progress.cost.add_applications(*base_, p.rhs(), 1);
  progress.cost += sums.cost;
  if (base_shift_ != 0) {
    const Coefficients direction2 = norm2_each(p);
    for (size_t i = 0; i < n; ++i) energy[i] += base_shift_ * direction2[i];
    progress.cost.add_linear_algebra(p, 1, 2, 1, 1);
  }
  for (size_t i = 0; i < n; ++i) {
    alpha_[i] = 0;
    if (!progress.columns[i].is_active) continue;
    if (!std::isfinite(energy[i])) {
      alpha_.assign(n, 0.0);
      return progress.fail_all_not_finite();
    }
    const double length = residual2_[i] / energy[i];
    if (energy[i] > 0 && is_usable(length))
      alpha_[i] = length;
    else
      progress.fail(int(i), StopReason::broke_down);
  }
}

/// Computes zeta' of a shift, and the coefficients of its step; returns false if no right-hand side needs it.
bool SharedKrylovSpace::advance(Shift& shift, ShiftStep& step, const Coefficients& next_beta) {
  bool is_needed = false;
  for (size_t i = 0; i < alpha_.size(); ++i) {
    if (alpha_[i] == 0 || shift.is_done[i]) continue;
    const double history = alpha_[i] * beta_[i] / alpha_before_[i] * (1 - shift.ratio[i]);
    shift.ratio[i] = 1 / (1 + shift.distance * alpha_[i] + history);
    shift.zeta[i] *= shift.ratio[i];
    step.a[i] = alpha_[i] * shift.zeta[i];
    step.b[i] = next_beta[i] * shift.ratio[i];
    const SolveColumn& c = progress.columns[i];
    shift.is_done[i] = shift.zeta[i] * shift.zeta[i] * c.residual2 <= c.target2 || c.failed;
    is_needed = true;
  }
  return is_needed;
}

/// Takes all pending steps in one pass. A shift that was no longer needed has all-zero steps there.
void SharedKrylovSpace::take_pending_steps(std::vector<SpinorField>& x) {
  if (pending_ == 0) return;
  std::vector<SpinorField*> solutions, directions;
  std::vector<std::vector<ShiftStep>> steps;
  for (size_t k = 0; k < shifts_.size(); ++k) {
    if (k == base_index_ || shifts_[k].pending.empty()) continue;
    solutions.push_back(&x[k]);
    directions.push_back(&directions_[k]);
    steps.push_back(std::move(shifts_[k].pending));
    shifts_[k].pending.clear();
  }
  std::vector<const SpinorField*> residuals;
  const int kept = int(residuals_.size());
  for (int age = pending_ - 1; age >= 0; --age)
    residuals.push_back(&residuals_[size_t((now_ - age + kept) % kept)]);
  update_shifts(solutions, directions, residuals, steps);
  progress.cost.add_linear_algebra(product_, 4.0 * double(solutions.size()) + pending_,
                                   4.0 * pending_ * double(solutions.size()), solutions.empty() ? 0 : 1, 0);
  pending_ = 0;
}

/// Does one iteration; returns false when nothing is left to do.
bool SharedKrylovSpace::step(std::vector<SpinorField>& x) {
  const size_t n = alpha_.size();
  step_lengths();
  if (!progress.any_active()) return false;
  const Coefficients one(n, 1.0), minus = negative(alpha_);
  const int next_place = (now_ + 1) % int(residuals_.size());
  SpinorField &r = residuals_[size_t(now_)], &next = residuals_[size_t(next_place)];
  if (base_shift_ != 0) {
    combine(product_, one, product_, Coefficients(n, base_shift_), directions_[base_index_]);
    progress.cost.add_linear_algebra(r, 3, 2, 1, 0);
  }
  const Coefficients residual2 = combine_norm2(next, one, r, minus, product_);
  now_ = next_place;
  progress.record(residual2);
  Coefficients next_beta(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    if (progress.columns[i].is_active) next_beta[i] = residual2[i] / residual2_[i];
  progress.cost.add_linear_algebra(r, 3, 4, 1, 1);
  ++pending_;
  ++iterations_;
  for (size_t k = 0; k < shifts_.size(); ++k) {
    Shift& shift = shifts_[k];
    if (!shift.is_active && shift.pending.empty()) continue;
    ShiftStep step{Coefficients(n, 0.0), Coefficients(n, 0.0)};
    shift.is_active = shift.is_active && advance(shift, step, next_beta);
    updated_ += shift.is_active ? 1 : 0;
    if (k == base_index_) {
      if (!shift.is_active) continue;
      update_solution_and_direction(x[k], step.a, directions_[k], step.b, residuals_[size_t(now_)]);
      progress.cost.add_linear_algebra(r, 5, 4, 1, 0);
    } else if (shift.is_active || !shift.pending.empty()) {
      shift.pending.push_back(std::move(step));
    }
  }
  if (pending_ == int(residuals_.size())) take_pending_steps(x);
  alpha_before_ = alpha_;
  beta_ = next_beta;
  residual2_ = residual2;
  return progress.any_active();
}

bool SharedKrylovSpace::iterate(std::vector<SpinorField>& x) {
  if (progress.any_active())
    while (step(x)) {}
  take_pending_steps(x);
  return std::all_of(progress.columns.begin(), progress.columns.end(),
                     [](const SolveColumn& c) { return c.failed || c.residual2 <= c.target2; });
}

}  // namespace trellis
