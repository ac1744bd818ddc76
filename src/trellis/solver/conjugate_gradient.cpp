#include "trellis/solver/conjugate_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/energy.hpp"
#include "trellis/solver/residual_correction.hpp"

namespace trellis {

ConjugateGradient::ConjugateGradient(const LinearOperator& A, int rhs, CgForm form, bool is_updated)
    : A_{A},
      form_{form},
      direction_{A.make_field(rhs)},
      product_{SpinorField::like(direction_)},
      energy_(size_t(rhs), 0.0),
      has_direction_(size_t(rhs), false) {
  TRELLIS_REQUIRE(form == CgForm::normal_equations || A.is_hermitian(),
                  "conjugate gradients need a hermitian operator, ", "which ", A.name(),
                  " is not; the normal equations do not");
  if (form == CgForm::normal_equations) gradient_.emplace(SpinorField::like(direction_));
  if (is_updated) resumed_.emplace(SpinorField::like(direction_));
}

/// s from r; returns |s|^2.
Coefficients ConjugateGradient::update_gradient(const SpinorField& r, const Coefficients& residual2,
                                                SolveCost& cost) {
  if (form_ == CgForm::hermitian) return residual2;
  cost.add_applications(A_, r.rhs(), 1);
  cost.add_linear_algebra(r, 0, 2);
  return A_.apply_dagger_norm2(*gradient_, r);
}

/// E from p and q.
Coefficients ConjugateGradient::energy(SolveCost& cost) const {
  if (form_ == CgForm::normal_equations) {
    cost.add_linear_algebra(product_, 1, 2);
    return norm2_each(product_);
  }
  cost.add_linear_algebra(product_, 2, 4);
  return real_dot_each(direction_, product_);
}

/// q = A p; returns E.
Coefficients ConjugateGradient::apply_to_direction(SolveCost& cost) {
  cost.add_applications(A_, direction_.rhs(), 1);
  if (form_ == CgForm::hermitian) {
    cost.add_linear_algebra(direction_, energy_fields(A_), 2);
    return apply_with_energy(A_, product_, direction_);
  }
  cost.add_linear_algebra(direction_, 0, 2);
  return A_.apply_norm2(product_, direction_);
}

/// p, q = A p and E of a run that continues: p is conjugate to the last p where there is one, else s. Returns
/// <s, p>.
Coefficients ConjugateGradient::resume(const SpinorField& s, SolveProgress& progress) {
  const size_t n = has_direction_.size();
  SpinorField& A_s = *resumed_;
  A_.apply(A_s, s);
  const Coefficients overlap = real_dot_each(product_, form_ == CgForm::hermitian ? s : A_s);
  Coefficients c(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    if (has_direction_[i] && progress.columns[i].is_active) c[i] = -overlap[i] / energy_[i];
  combine(direction_, Coefficients(n, 1.0), s, c, direction_);
  combine(product_, Coefficients(n, 1.0), A_s, c, product_);
  energy_ = energy(progress.cost);
  progress.cost.add_applications(A_, s.rhs(), 1);
  progress.cost.add_linear_algebra(s, 10, 14);
  return real_dot_each(s, direction_);
}

/// alpha of the active columns, 0 for the others; a column without a usable energy fails.
Coefficients ConjugateGradient::step_lengths(const Coefficients& numerator, SolveProgress& progress) const {
  Coefficients alpha(numerator.size(), 0.0);
  for (size_t i = 0; i < alpha.size(); ++i) {
    if (!progress.columns[i].is_active) continue;
    if (!std::isfinite(energy_[i])) {
      progress.fail_all_not_finite();
      return Coefficients(alpha.size(), 0.0);
    }
    const double step = numerator[i] / energy_[i];
    if (energy_[i] > 0 && step > 0 && is_usable(step))
      alpha[i] = step;
    else
      progress.fail(int(i), StopReason::broke_down);
  }
  return alpha;
}

void ConjugateGradient::run(SpinorField& x, SpinorField& r, SolveProgress& progress) {
  const size_t n = progress.columns.size();
  const Coefficients one(n, 1.0);
  gradient2_ = update_gradient(r, form_ == CgForm::hermitian ? norm2_each(r) : Coefficients(), progress.cost);
  const SpinorField& s = gradient(r);
  Coefficients numerator = gradient2_, alpha(n, 0.0), beta(n, 0.0);
  const bool resumes = std::find(has_direction_.begin(), has_direction_.end(), true) != has_direction_.end();
  if (resumes)
    numerator = resume(s, progress);
  else
    copy(direction_, s);
  for (bool has_product = resumes;; has_product = false) {
    if (!has_product) energy_ = apply_to_direction(progress.cost);
    alpha = step_lengths(numerator, progress);
    if (!progress.any_active()) break;
    const Coefficients residual2 = combine_norm2(r, one, r, negative(alpha), product_);
    progress.record(residual2);
    progress.cost.add_linear_algebra(r, 3, 4);
    if (!progress.any_active() || (resumed_ && progress.wants_reliable_update())) {
      combine(x, one, x, alpha, direction_);
      progress.cost.add_linear_algebra(x, 3, 2);
      break;
    }
    numerator = update_gradient(r, residual2, progress.cost);
    for (size_t i = 0; i < n; ++i)
      beta[i] = progress.columns[i].is_active ? numerator[i] / gradient2_[i] : 0.0;
    update_solution_and_direction(x, alpha, direction_, beta, s);
    progress.cost.add_linear_algebra(x, 5, 4);
    gradient2_ = numerator;
  }
  for (size_t i = 0; i < n; ++i) has_direction_[i] = resumed_ && alpha[i] != 0 && !progress.columns[i].failed;
}

namespace {
SolveReport solve_by_cg(const LinearOperator& A, CgForm form, SpinorField& x, const SpinorField& b,
                        const CgSpec& spec) {
  ConjugateGradient method(A, b.rhs(), form, false);
  SolveReport report =
      correct_residual(A, A, method, x, b, {spec.tolerance, spec.max_iterations, spec.records_history});
  report.method = form == CgForm::hermitian ? "cg" : "cg on the normal equations";
  return report;
}
}  // namespace

SolveReport conjugate_gradient(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                               const CgSpec& spec) {
  return solve_by_cg(A, CgForm::hermitian, x, b, spec);
}

SolveReport conjugate_gradient_normal(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                                      const CgSpec& spec) {
  return solve_by_cg(A, CgForm::normal_equations, x, b, spec);
}

}  // namespace trellis
