#include "trellis/solver/methods/cg.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/solver_methods.hpp"

namespace trellis {

ConjugateGradient::ConjugateGradient(const LinearOperator& A, int rhs, CgForm form, bool is_updated,
                                     std::unique_ptr<ApproximateInverse> K)
    : A_{A},
      form_{form},
      direction_{A.make_field(rhs)},
      product_{SpinorField::like(direction_)},
      K_{std::move(K)},
      energy_(size_t(rhs), 0.0),
      has_direction_(size_t(rhs), false) {
  TRELLIS_REQUIRE(form == CgForm::normal_equations || A.is_hermitian(),
                  "conjugate gradients need a hermitian operator, ", "which ", A.name(),
                  " is not; the normal equations do not");
  if (form == CgForm::normal_equations) gradient_.emplace(SpinorField::like(direction_));
  if (is_updated) resumed_.emplace(SpinorField::like(direction_));
  if (K_) step_.emplace(SpinorField::like(direction_));
}

/// Computes s from r; returns |s|^2.
Coefficients ConjugateGradient::update_gradient(const SpinorField& r, const Coefficients& residual2,
                                                SolveCost& cost) {
  if (form_ == CgForm::hermitian) return residual2;
  ColumnSums sums{.wants_norm2 = true};
  A_.apply_dagger(*gradient_, r, sums);
  cost.add_dagger_applications(A_, r.rhs(), 1);
  cost += sums.cost;
  return sums.norm2;
}

/// Computes z = K s; returns <s, z>. `gradient2` is |s|^2, which the result is without a preconditioner.
Coefficients ConjugateGradient::precondition(const SpinorField& r, const Coefficients& gradient2,
                                             SolveCost& cost) {
  if (!K_) return gradient2;
  K_->apply(*step_, gradient(r), cost);
  cost.add_linear_algebra(r, 2, 2, 1, 1);
  return real_dot_each(gradient(r), *step_);
}

/// Forms E from p and q.
Coefficients ConjugateGradient::energy(SolveCost& cost) const {
  if (form_ == CgForm::normal_equations) {
    cost.add_linear_algebra(product_, 1, 2, 1, 1);
    return norm2_each(product_);
  }
  cost.add_linear_algebra(product_, 2, 4, 1, 1);
  return real_dot_each(direction_, product_);
}

/// Computes q = A p; returns E.
Coefficients ConjugateGradient::apply_to_direction(SolveCost& cost) {
  const bool is_hermitian = form_ == CgForm::hermitian;
  ColumnSums sums{.wants_norm2 = !is_hermitian, .wants_real_dot = is_hermitian};
  A_.apply(product_, direction_, sums);
  cost.add_applications(A_, direction_.rhs(), 1);
  cost += sums.cost;
  return is_hermitian ? sums.real_dot : sums.norm2;
}

/// Computes p, q = A p and E of a run that continues: p is conjugate to the last p where there is one, else
/// it is z. Returns <s, p>.
Coefficients ConjugateGradient::resume(const SpinorField& s, const SpinorField& z, SolveProgress& progress) {
  const size_t n = has_direction_.size();
  SpinorField& A_z = *resumed_;
  A_.apply(A_z, z);
  const Coefficients overlap = real_dot_each(product_, form_ == CgForm::hermitian ? z : A_z);
  Coefficients c(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    if (has_direction_[i] && progress.columns[i].is_active) c[i] = -overlap[i] / energy_[i];
  combine(direction_, Coefficients(n, 1.0), z, c, direction_);
  combine(product_, Coefficients(n, 1.0), A_z, c, product_);
  energy_ = energy(progress.cost);
  progress.cost.add_applications(A_, s.rhs(), 1);
  progress.cost.add_linear_algebra(s, 10, 14, 4, 2);
  return real_dot_each(s, direction_);
}

/// Returns alpha of the active columns, and 0 for the others; a column without a usable energy fails.
Coefficients ConjugateGradient::step_lengths(const Coefficients& numerator, SolveProgress& progress) const {
  Coefficients alpha(numerator.size(), 0.0);
  for (size_t i = 0; i < alpha.size(); ++i) {
    if (!progress.columns[i].is_active) continue;
    if (!std::isfinite(energy_[i])) {
      progress.fail_all_not_finite(K_ ? &*step_ : nullptr);
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
  const bool is_hermitian = form_ == CgForm::hermitian;
  if (is_hermitian) progress.cost.add_linear_algebra(r, 1, 2, 1, 1);
  gradient2_ = update_gradient(r, is_hermitian ? norm2_each(r) : Coefficients(), progress.cost);
  gradient2_ = precondition(r, gradient2_, progress.cost);
  const SpinorField &s = gradient(r), &z = direction_part(s);
  Coefficients numerator = gradient2_, alpha(n, 0.0), beta(n, 0.0);
  const bool resumes = std::find(has_direction_.begin(), has_direction_.end(), true) != has_direction_.end();
  if (resumes)
    numerator = resume(s, z, progress);
  else
    copy(direction_, z);
  for (bool has_product = resumes;; has_product = false) {
    if (!has_product) energy_ = apply_to_direction(progress.cost);
    alpha = step_lengths(numerator, progress);
    if (!progress.any_active()) break;
    const Coefficients residual2 = combine_norm2(r, one, r, negative(alpha), product_);
    progress.record(residual2);
    progress.cost.add_linear_algebra(r, 3, 4, 1, 1);
    if (!progress.any_active() || (resumed_ && progress.wants_reliable_update())) {
      add_to_active(x, alpha, direction_, progress);
      progress.cost.add_linear_algebra(x, 3, 2, 1, 0);
      break;
    }
    numerator = precondition(r, update_gradient(r, residual2, progress.cost), progress.cost);
    for (size_t i = 0; i < n; ++i)
      beta[i] = progress.columns[i].is_active ? numerator[i] / gradient2_[i] : 0.0;
    const KeptColumns kept(x, alpha, progress);
    update_solution_and_direction(x, alpha, direction_, beta, z);
    progress.cost.add_linear_algebra(x, 5, 4, 1, 0);
    gradient2_ = numerator;
  }
  for (size_t i = 0; i < n; ++i) has_direction_[i] = resumed_ && alpha[i] != 0 && !progress.columns[i].failed;
}

namespace {
class CgRecipe final : public KrylovRecipe {
 public:
  explicit CgRecipe(CgSpec spec) : spec_{std::move(spec)} {}
  std::string name(const LinearOperator& A) const override {
    return (A.is_hermitian() ? "cg" : "cg on the normal equations") + iterations_in_words() +
           spec_.preconditioner.words(A);
  }
  SolveLimits limits() const override { return limits_of(spec_); }
  SolverSpec limited(const SolveLimits& limits) const override { return with_limits(spec_, limits); }
  std::unique_ptr<KrylovMethod> make_method(const OperatorCopies& A, int columns,
                                            bool is_updated) const override {
    spec_.preconditioner.require_fit_for_cg(*A);
    const CgForm form = A->is_hermitian() ? CgForm::hermitian : CgForm::normal_equations;
    return std::make_unique<ConjugateGradient>(*A, columns, form, is_updated,
                                               spec_.preconditioner.bind(A, columns));
  }
  bool has_reliable_updates() const override { return true; }
  /// A preconditioner may not be what it is declared to be.
  StagnationRule stagnation(bool is_low) const override {
    return is_low || spec_.preconditioner ? low_storage_cg : StagnationRule{};
  }
  /// A solver with a preconditioner has CG without it as the surer one.
  std::optional<SolverSpec> surer() const override {
    if (!spec_.preconditioner) return std::nullopt;
    CgSpec plain = spec_;
    plain.preconditioner = {};
    return plain;
  }

 private:
  CgSpec spec_;
};
}  // namespace

CgSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<CgRecipe>(*this)); }

extern const SolverMethod cg_method{"cg", [](const SolverParameters& p) -> SolverSpec {
                                      CgSpec spec;
                                      p.take_limits(spec);
                                      p.take("preconditioner", spec.preconditioner);
                                      return spec;
                                    }};

}  // namespace trellis
