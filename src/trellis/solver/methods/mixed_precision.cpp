#include "trellis/solver/methods/mixed_precision.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/solver/krylov_recipe.hpp"
#include "trellis/solver/residual_correction.hpp"
#include "trellis/solver/solver_methods.hpp"

namespace trellis {

namespace {

/// Returns the factor by which the residual drops between two computations in double. CG keeps its direction,
/// and its count of iterations hardly depends on this (condition number 10^4 to 1e-10: 1060 in double, 1165
/// to 1180 in float, 1300 to 1330 in half for thresholds from 0.1 to 0.001; domain walls of 8^4, Ls = 8: 232
/// in double, in half 240, 253 and 271 for 0.1, 0.03 and 0.01); the others begin anew and want few updates.
double default_threshold(bool keeps_direction, Precision precision) {
  if (precision == Precision::fp16_precision) return 0.1;
  if (precision == Precision::half_precision) return keeps_direction ? 0.03 : 0.01;
  return keeps_direction ? 1e-2 : 1e-4;
}

/// It makes a method of any solver: each iteration is one run of it for what is left.
class RepeatedRuns final : public KrylovMethod {
 public:
  RepeatedRuns(std::unique_ptr<ApproximateInverse> K, const LinearOperator& A, int columns)
      : A_{A}, K_{std::move(K)}, step_{A.make_field(columns)}, image_{A.make_field(columns)} {}

  void run(SpinorField& x, SpinorField& r, SolveProgress& progress) override {
    const size_t n = progress.columns.size();
    while (progress.any_active()) {
      K_->apply(step_, r, progress.cost);
      A_.apply(image_, step_);
      const Coefficients mask = progress.active_mask();
      combine(x, Coefficients(n, 1.0), x, mask, step_);
      const Coefficients left2 = combine_norm2(r, Coefficients(n, 1.0), r, negative(mask), image_);
      for (size_t i = 0; i < n; ++i)
        if (progress.columns[i].is_active && !std::isfinite(left2[i]))
          return progress.fail_all_not_finite(&step_);
      Coefficients before;
      for (const SolveColumn& c : progress.columns) before.push_back(c.residual2);
      progress.record(left2);
      progress.cost.add_applications(A_, r.rhs(), 1);
      progress.cost.add_linear_algebra(r, 6, 6, 2, 1);
      for (size_t i = 0; i < n; ++i)
        if (progress.columns[i].is_active && left2[i] > least_progress2 * before[i])
          progress.fail(int(i), StopReason::stagnated);
    }
  }

 private:
  static constexpr double least_progress2 = 0.9;
  const LinearOperator& A_;
  std::unique_ptr<ApproximateInverse> K_;
  SpinorField step_, image_;
};

/// It works in low storage inside another solver and converts there and back, in units in which r has norm 1
/// (fp16: in which its numbers are about 1).
class InLowStorage final : public ApproximateInverse {
 public:
  InLowStorage(std::unique_ptr<ApproximateInverse> K, const LinearOperator& A, const LinearOperator& low,
               int columns)
      : K_{std::move(K)},
        scaled_{A.make_field(columns)},
        low_residual_{low.make_field(columns)},
        low_step_{SpinorField::like(low_residual_)} {}

  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    const double unit = low_residual_.precision() == Precision::fp16_precision ? fp16_norm : 1;
    Coefficients down, up;
    for (const double norm : norm_each(r)) {
      const bool is_usable = norm > 0 && std::isfinite(norm) && std::isfinite(unit / norm);
      down.push_back(is_usable ? unit / norm : 0);
      up.push_back(is_usable ? norm / unit : 0);
    }
    const Coefficients zero(down.size(), 0.0);
    combine(scaled_, down, r, zero, r);
    convert(low_residual_, scaled_);
    K_->apply(low_step_, low_residual_, cost);
    convert(z, low_step_);
    combine(z, up, z, zero, z);
    cost.add_linear_algebra(r, 8, 4, 3, 1);
  }

 private:
  std::unique_ptr<ApproximateInverse> K_;
  SpinorField scaled_, low_residual_, low_step_;
};

class MixedPrecisionRecipe final : public SolverRecipe {
 public:
  explicit MixedPrecisionRecipe(MixedPrecisionSpec spec)
      : spec_{std::move(spec)}, krylov_{dynamic_cast<const KrylovRecipe*>(&*spec_.inner)} {
    TRELLIS_REQUIRE(spec_.update_threshold >= 0 && spec_.update_threshold < 1,
                    "the update threshold of a mixed-precision solver lies between 0 and 1, not ",
                    spec_.update_threshold);
  }

  std::string name(const LinearOperator& A) const override {
    return message(spec_.inner->name(A), ", ", name_of(spec_.precision), " inside");
  }
  SolveLimits limits() const override { return spec_.inner.limits(); }
  SolverSpec limited(const SolveLimits& limits) const override {
    return MixedPrecisionSpec{spec_.inner.limited(limits), spec_.precision, spec_.update_threshold};
  }
  std::optional<Precision> storage() const override {
    const auto deeper = spec_.inner->storage();
    return deeper ? deeper : spec_.precision;
  }
  std::optional<SolverSpec> surer() const override;
  SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const override;
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override {
    const OperatorCopies& low = A.in(spec_.precision);
    return std::make_unique<InLowStorage>(spec_.inner->inside(low, columns), *A, *low, columns);
  }

 private:
  std::unique_ptr<KrylovMethod> make_method(const OperatorCopies& low, int columns) const {
    if (krylov_) return krylov_->make_method(low, columns, krylov_->has_reliable_updates());
    return std::make_unique<RepeatedRuns>(spec_.inner->inside(low, columns), *low, columns);
  }
  MixedPrecisionSpec spec_;
  const KrylovRecipe* krylov_;  ///< the recipe of spec_.inner, where it is one of these
};

/// Takes a surer method in the same storage, then in the next wider one.
std::optional<SolverSpec> MixedPrecisionRecipe::surer() const {
  if (const auto method = spec_.inner->surer()) return MixedPrecisionSpec{*method, spec_.precision};
  if (is_16_bit(spec_.precision)) return MixedPrecisionSpec{spec_.inner, Precision::single_precision};
  return spec_.inner;
}

SolveReport MixedPrecisionRecipe::solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const {
  const OperatorCopies& low = A.in(spec_.precision);
  const bool keeps_direction = krylov_ && krylov_->has_reliable_updates();
  const double threshold = spec_.update_threshold > 0 ? spec_.update_threshold
                                                      : default_threshold(keeps_direction, spec_.precision);
  const std::unique_ptr<KrylovMethod> method = make_method(low, b.rhs());
  CorrectionParams params(limits(), krylov_ ? krylov_->stagnation(true) : StagnationRule{});
  params.reduction_per_run = keeps_direction ? 0.0 : threshold;
  params.update_threshold = keeps_direction ? threshold : 0.0;
  params.is_threshold_adapted = spec_.update_threshold == 0;
  SolveReport report = correct_residual(*A, *low, *method, x, b, params);
  report.method = name(*A);
  return report;
}

}  // namespace

MixedPrecisionSpec::operator SolverSpec() const {
  return SolverSpec(std::make_shared<MixedPrecisionRecipe>(*this));
}

extern const SolverMethod mixed_precision_method{"mixed_precision",
                                                 [](const SolverParameters& p) -> SolverSpec {
                                                   MixedPrecisionSpec spec{p.solver("solver")};
                                                   p.take("inner", spec.precision);
                                                   p.take("update_threshold", spec.update_threshold);
                                                   return spec;
                                                 }};

}  // namespace trellis
