#include "trellis/solver/krylov_recipe.hpp"

#include <cmath>
#include <limits>

#include "trellis/base/error.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/residual_correction.hpp"

namespace trellis {

namespace {

class OneRun final : public ApproximateInverse {
 public:
  OneRun(std::unique_ptr<KrylovMethod> method, const LinearOperator& A, int columns,
         const SolveLimits& limits)
      : method_{std::move(method)}, limits_{limits}, residual_{A.make_field(columns)} {}

  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    const Coefficients norm2 = norm2_each(r);
    const bool is_fixed = limits_.iterations > 0;
    const double reduction2 = is_fixed ? 0 : limits_.tolerance * limits_.tolerance;
    SolveProgress progress(r.rhs(), is_fixed ? limits_.iterations : limits_.max_iterations, false);
    for (size_t i = 0; i < norm2.size(); ++i) {
      SolveColumn& c = progress.columns[i];
      c.start2 = c.residual2 = c.largest2 = norm2[i];
      c.target2 = reduction2 * norm2[i];
      c.is_active = norm2[i] > 0 && std::isfinite(norm2[i]);
      method_->forget(int(i));
    }
    copy(residual_, r);
    set_zero(z);
    if (progress.any_active()) method_->run(z, residual_, progress);
    pass_on_nan(z, progress);
    cost.add_linear_algebra(r, 4, 2, 1, 1);
    cost += progress.cost;
  }

 private:
  /// A column whose operator or preconditioner returned NaN or Inf is NaN for the solver outside, too, which
  /// reports it; else it would take what was reached before for the answer.
  static void pass_on_nan(SpinorField& z, const SolveProgress& progress) {
    Coefficients factor;
    bool any = false;
    for (const SolveColumn& c : progress.columns) {
      const bool is_nan = c.failed && (c.failure == StopReason::not_finite ||
                                       c.failure == StopReason::preconditioner_not_finite);
      factor.push_back(is_nan ? std::numeric_limits<double>::quiet_NaN() : 1.0);
      any = any || is_nan;
    }
    if (any) combine(z, factor, z, Coefficients(factor.size(), 0.0), z);
  }

  std::unique_ptr<KrylovMethod> method_;
  SolveLimits limits_;
  SpinorField residual_;
};

}  // namespace

std::unique_ptr<ApproximateInverse> one_run(std::unique_ptr<KrylovMethod> method, const LinearOperator& A,
                                            int columns, const SolveLimits& limits) {
  return std::make_unique<OneRun>(std::move(method), A, columns, limits);
}

std::optional<SolverSpec> KrylovRecipe::surer() const { return with_limits(CgSpec{}, limits()); }

SolveReport KrylovRecipe::solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const {
  const std::unique_ptr<KrylovMethod> method = make_method(A, b.rhs(), false);
  SolveReport report = correct_residual(*A, *A, *method, x, b, CorrectionParams(limits(), stagnation(false)));
  report.method = name(*A);
  return report;
}

std::unique_ptr<ApproximateInverse> KrylovRecipe::inside(const OperatorCopies& A, int columns) const {
  return one_run(make_method(A, columns, false), *A, columns, limits());
}

std::string KrylovRecipe::iterations_in_words() const {
  const int n = limits().iterations;
  return n > 0 ? message(", ", n, n == 1 ? " iteration" : " iterations") : "";
}

}  // namespace trellis
