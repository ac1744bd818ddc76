#include "trellis/solver/methods/bicgstab.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/solver_methods.hpp"

namespace trellis {

namespace {
/// <r0, r> below this fraction of |r0| |r| carries no more information: the column begins anew.
constexpr double least_overlap = 1e-12;
}  // namespace

Bicgstab::Bicgstab(const LinearOperator& A, int rhs, std::unique_ptr<ApproximateInverse> K)
    : A_{A},
      shadow_{A.make_field(rhs)},
      direction_{SpinorField::like(shadow_)},
      product_{SpinorField::like(shadow_)},
      image_{SpinorField::like(shadow_)},
      K_{std::move(K)},
      alpha_(size_t(rhs)),
      omega_(size_t(rhs)) {
  if (!K_) return;
  K_direction_.emplace(SpinorField::like(shadow_));
  K_residual_.emplace(SpinorField::like(shadow_));
}

/// Computes v = A K p and alpha; r becomes s = r - alpha v.
void Bicgstab::half_step(SpinorField& r, SolveProgress& progress) {
  if (K_) K_->apply(*K_direction_, direction_, progress.cost);
  A_.apply(product_, K_ ? *K_direction_ : direction_);
  const ComplexCoefficients overlap = dot_each(shadow_, product_);
  for (size_t i = 0; i < alpha_.size(); ++i) {
    alpha_[i] = 0;
    if (!progress.columns[i].is_active) continue;
    if (!std::isfinite(std::abs(overlap[i])))
      return progress.fail_all_not_finite(K_ ? &*K_direction_ : nullptr);
    const std::complex<double> step = rho_[i] / overlap[i];
    if (overlap[i] != 0.0 && is_usable(step))
      alpha_[i] = step;
    else
      progress.fail(int(i), StopReason::broke_down);
  }
  const ComplexCoefficients one(alpha_.size(), 1.0);
  intermediate2_ = combine_norm2(r, one, r, negative(alpha_), product_);
}

/// Computes t = A K s, omega, x += alpha K p + omega K s, r = s - omega t. A column whose s is small enough
/// is left there.
void Bicgstab::stabilise(SpinorField& x, SpinorField& r, SolveProgress& progress) {
  if (K_) K_->apply(*K_residual_, r, progress.cost);
  const SpinorField& step = K_ ? *K_residual_ : r;
  A_.apply(image_, step);
  const ComplexCoefficients overlap = dot_each(image_, r);
  const Coefficients image2 = norm2_each(image_);
  bool is_finite = true;
  for (size_t i = 0; i < omega_.size(); ++i) {
    const SolveColumn& c = progress.columns[i];
    omega_[i] = 0;
    if (!c.is_active || intermediate2_[i] <= c.target2) continue;
    is_finite = is_finite && std::isfinite(image2[i]);
    if (image2[i] > 0 && is_usable(overlap[i] / image2[i])) omega_[i] = overlap[i] / image2[i];
  }
  const ComplexCoefficients one(alpha_.size(), 1.0);
  add_to_active(x, alpha_, K_ ? *K_direction_ : direction_, progress);
  if (!is_finite) return progress.fail_all_not_finite(K_ ? &step : nullptr);
  add_to_active(x, omega_, step, progress);
  progress.record(combine_norm2(r, one, r, negative(omega_), image_));
}

/// Computes p = r + beta (p - omega v); where rho or omega vanish, r0 = p = r.
void Bicgstab::update_direction(const SpinorField& r, SolveProgress& progress) {
  const size_t n = rho_.size();
  const ComplexCoefficients overlap = dot_each(shadow_, r), one(n, 1.0);
  ComplexCoefficients beta(n, 0.0);
  Coefficients keep(n, 1.0), renew(n, 0.0);
  bool renews = false;
  for (size_t i = 0; i < n; ++i) {
    const SolveColumn& c = progress.columns[i];
    if (!c.is_active) continue;
    if (omega_[i] != 0.0 && std::abs(overlap[i]) > least_overlap * std::sqrt(shadow2_[i] * c.residual2)) {
      beta[i] = (overlap[i] / rho_[i]) * (alpha_[i] / omega_[i]);
      rho_[i] = overlap[i];
    }
    if (beta[i] == 0.0 || !is_usable(beta[i])) {
      beta[i] = 0;
      keep[i] = 0;
      renew[i] = 1;
      renews = true;
      rho_[i] = shadow2_[i] = c.residual2;
      ++progress.restarts;
    }
  }
  if (renews) combine(shadow_, keep, shadow_, renew, r);
  combine(direction_, one, direction_, negative(omega_), product_);
  combine(direction_, one, r, beta, direction_);
  progress.cost.add_linear_algebra(r, 0, 0, renews ? 4 : 3, 1);  // run() counts traffic and flops
}

void Bicgstab::run(SpinorField& x, SpinorField& r, SolveProgress& progress) {
  copy(shadow_, r);
  copy(direction_, r);
  shadow2_ = norm2_each(r);
  progress.cost.add_linear_algebra(r, 1, 2, 1, 1);
  rho_.assign(shadow2_.begin(), shadow2_.end());
  while (true) {
    half_step(r, progress);
    if (!progress.any_active()) return;
    stabilise(x, r, progress);
    progress.cost.add_applications(A_, r.rhs(), 2);
    progress.cost.add_linear_algebra(r, 25, 58, 7, 5);
    if (!progress.any_active()) return;
    update_direction(r, progress);
  }
}

namespace {
class BicgstabRecipe final : public KrylovRecipe {
 public:
  explicit BicgstabRecipe(BicgstabSpec spec) : spec_{std::move(spec)} {}
  std::string name(const LinearOperator& A) const override {
    return "bicgstab" + iterations_in_words() + spec_.preconditioner.words(A);
  }
  SolveLimits limits() const override { return limits_of(spec_); }
  SolverSpec limited(const SolveLimits& limits) const override { return with_limits(spec_, limits); }
  std::unique_ptr<KrylovMethod> make_method(const OperatorCopies& A, int columns, bool) const override {
    return std::make_unique<Bicgstab>(*A, columns, spec_.preconditioner.bind(A, columns));
  }

 private:
  BicgstabSpec spec_;
};
}  // namespace

BicgstabSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<BicgstabRecipe>(*this)); }

extern const SolverMethod bicgstab_method{"bicgstab", [](const SolverParameters& p) -> SolverSpec {
                                            BicgstabSpec spec;
                                            p.take_limits(spec);
                                            p.take("preconditioner", spec.preconditioner);
                                            return spec;
                                          }};

}  // namespace trellis
