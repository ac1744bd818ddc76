#include "trellis/solver/minimal_residual.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/solver/residual_correction.hpp"

namespace trellis {

namespace {
/// A step that leaves more of |r|^2 than this: the hermitian part is not definite on r.
constexpr double most_left_by_step = 1 - 1e-9;
}  // namespace

MinimalResidual::MinimalResidual(const LinearOperator& A, int rhs, double relaxation)
    : A_{A}, relaxation_{relaxation}, image_{A.make_field(rhs)} {
  TRELLIS_REQUIRE(relaxation > 0 && relaxation < 2, "the relaxation of mr lies between 0 and 2, not ",
                  relaxation);
}

void MinimalResidual::run(SpinorField& x, SpinorField& r, SolveProgress& progress) {
  const size_t n = progress.columns.size();
  const ComplexCoefficients one(n, 1.0);
  ComplexCoefficients alpha(n);
  while (progress.any_active()) {
    A_.apply(image_, r);
    const ComplexCoefficients overlap = dot_each(image_, r);
    const Coefficients image2 = norm2_each(image_);
    Coefficients before;
    for (size_t i = 0; i < n; ++i) {
      const SolveColumn& c = progress.columns[i];
      before.push_back(c.residual2);
      alpha[i] = 0;
      if (!c.is_active) continue;
      if (!std::isfinite(image2[i])) return progress.fail_all_not_finite();
      const std::complex<double> step = relaxation_ * overlap[i] / image2[i];
      if (image2[i] > 0 && is_usable(step))
        alpha[i] = step;
      else
        progress.fail(int(i), StopReason::broke_down);
    }
    combine(x, one, x, alpha, r);
    progress.record(combine_norm2(r, one, r, negative(alpha), image_));
    for (size_t i = 0; i < n; ++i)
      if (progress.columns[i].is_active && progress.columns[i].residual2 > most_left_by_step * before[i])
        progress.fail(int(i), StopReason::stagnated);
    progress.cost.add_applications(A_, r.rhs(), 1);
    progress.cost.add_linear_algebra(r, 9, 30);
  }
}

SolveReport minimal_residual(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                             const MrSpec& spec) {
  MinimalResidual method(A, b.rhs(), spec.relaxation);
  SolveReport report = correct_residual(
      A, A, method, x, b, {spec.tolerance, spec.max_iterations, spec.records_history, unsure_method});
  report.method = "mr";
  return report;
}

}  // namespace trellis
