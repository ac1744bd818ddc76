#include "trellis/solver/methods/mr.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/solver_methods.hpp"

namespace trellis {

namespace {
/// A step that leaves more of |r|^2 than this shows that the hermitian part is not definite on r.
constexpr double most_left_by_step = 1 - 1e-9;
}  // namespace

MinimalResidual::MinimalResidual(const LinearOperator& A, int rhs, double relaxation,
                                 std::unique_ptr<ApproximateInverse> K)
    : A_{A}, relaxation_{relaxation}, image_{A.make_field(rhs)}, K_{std::move(K)} {
  TRELLIS_REQUIRE(relaxation > 0 && relaxation < 2, "the relaxation of mr lies between 0 and 2, not ",
                  relaxation);
  if (K_) step_.emplace(SpinorField::like(image_));
}

void MinimalResidual::run(SpinorField& x, SpinorField& r, SolveProgress& progress) {
  const size_t n = progress.columns.size();
  const ComplexCoefficients one(n, 1.0);
  const SpinorField& z = K_ ? *step_ : r;
  ComplexCoefficients alpha(n);
  while (progress.any_active()) {
    if (K_) K_->apply(*step_, r, progress.cost);
    A_.apply(image_, z);
    const ComplexCoefficients overlap = dot_each(image_, r);
    const Coefficients image2 = norm2_each(image_);
    Coefficients before;
    for (size_t i = 0; i < n; ++i) {
      const SolveColumn& c = progress.columns[i];
      before.push_back(c.residual2);
      alpha[i] = 0;
      if (!c.is_active) continue;
      if (!std::isfinite(image2[i])) return progress.fail_all_not_finite(K_ ? &z : nullptr);
      const std::complex<double> step = relaxation_ * overlap[i] / image2[i];
      if (image2[i] > 0 && is_usable(step))
        alpha[i] = step;
      else
        progress.fail(int(i), StopReason::broke_down);
    }
    add_to_active(x, alpha, z, progress);
    progress.record(combine_norm2(r, one, r, negative(alpha), image_));
    for (size_t i = 0; i < n; ++i)
      if (progress.columns[i].is_active && progress.columns[i].residual2 > most_left_by_step * before[i])
        progress.fail(int(i), StopReason::stagnated);
    progress.cost.add_applications(A_, r.rhs(), 1);
    progress.cost.add_linear_algebra(r, 9, 30, 4, 3);
  }
}

namespace {
class MrRecipe final : public KrylovRecipe {
 public:
  explicit MrRecipe(MrSpec spec) : spec_{std::move(spec)} {}
  std::string name(const LinearOperator& A) const override {
    return "mr" + iterations_in_words() + spec_.preconditioner.words(A);
  }
  SolveLimits limits() const override { return limits_of(spec_); }
  SolverSpec limited(const SolveLimits& limits) const override { return with_limits(spec_, limits); }
  std::unique_ptr<KrylovMethod> make_method(const OperatorCopies& A, int columns, bool) const override {
    return std::make_unique<MinimalResidual>(*A, columns, spec_.relaxation,
                                             spec_.preconditioner.bind(A, columns));
  }

 private:
  MrSpec spec_;
};
}  // namespace

MrSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<MrRecipe>(*this)); }

extern const SolverMethod mr_method{"mr", [](const SolverParameters& p) -> SolverSpec {
                                      MrSpec spec;
                                      p.take_limits(spec);
                                      p.take("relaxation", spec.relaxation);
                                      p.take("preconditioner", spec.preconditioner);
                                      return spec;
                                    }};

}  // namespace trellis
