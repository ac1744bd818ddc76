#include "trellis/solver/multi_shift_cg.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/solver/conjugate_gradient.hpp"
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {

/// The common recursion. With s the distance to the smallest shift and zeta r the residual of a shift,
///   zeta' / zeta = 1 / (1 + s alpha + (alpha beta / alpha_before) (1 - zeta / zeta_before)).
/// The field kept for a shift is its direction over zeta, so that one fused update serves all:
///   x += (alpha zeta') p;  p = r' + (beta' zeta' / zeta) p
class SharedKrylovSpace {
 public:
  SharedKrylovSpace(const LinearOperatorPtr& A, const std::vector<double>& shifts, const SpinorField& b,
                    const MultiShiftSpec& spec);
  /// False where the iterations ran out.
  bool iterate(std::vector<SpinorField>& x);
  bool source_is_zero() const {
    return std::all_of(norm2_.begin(), norm2_.end(), [](double n) { return n == 0; });
  }
  SolveProgress progress;

 private:
  struct Shift {
    double distance;
    Coefficients zeta, ratio;  ///< zeta and zeta / zeta_before, per right-hand side
    std::vector<bool> is_done;
  };
  bool step(std::vector<SpinorField>& x);
  void step_lengths();
  bool advance(Shift& shift, Coefficients& weight, Coefficients& beta, const Coefficients& next_beta);

  LinearOperatorPtr base_;  ///< A + the smallest shift
  const NormalOperator* normal_;
  double base_shift_;
  size_t base_index_;
  std::vector<Shift> shifts_;
  std::vector<SpinorField> directions_;
  SpinorField residual_, product_;
  Coefficients norm2_, residual2_, alpha_, alpha_before_, beta_;
};

SharedKrylovSpace::SharedKrylovSpace(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                                     const SpinorField& b, const MultiShiftSpec& spec)
    : progress(b.rhs(), spec.max_iterations, spec.records_history),
      base_{A},
      normal_{dynamic_cast<const NormalOperator*>(A.get())},
      base_index_{size_t(std::min_element(shifts.begin(), shifts.end()) - shifts.begin())},
      residual_{b},
      product_{SpinorField::like(b)} {
  const size_t n = size_t(b.rhs());
  base_shift_ = shifts[base_index_];
  norm2_ = norm2_each(b);
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(norm2_[i]))
      throw NumericError(message("the source has a NaN or Inf in right-hand side ", i));
    SolveColumn& c = progress.columns[i];
    c.is_active = norm2_[i] > 0;
    c.target2 = spec.tolerance * spec.tolerance * norm2_[i];
    c.start2 = c.residual2 = norm2_[i];
  }
  for (const double shift : shifts) {
    shifts_.push_back(
        {shift - base_shift_, Coefficients(n, 1.0), Coefficients(n, 1.0), std::vector<bool>(n, false)});
    directions_.push_back(b);
  }
  residual2_ = norm2_;
  alpha_.assign(n, 0.0);
  alpha_before_.assign(n, 1.0);
  beta_.assign(n, 0.0);
  progress.cost.add_linear_algebra(b, 3 + 2.0 * double(shifts.size()), 2);
}

/// q = (A + shift) p and alpha = |r|^2 / <p, q>, 0 for columns that are done.
void SharedKrylovSpace::step_lengths() {
  const SpinorField& p = directions_[base_index_];
  const size_t n = alpha_.size();
  Coefficients energy(n);
  if (normal_ != nullptr) {
    energy = normal_->apply_with_energy(product_, p);
  } else {
    base_->apply(product_, p);
    const ComplexCoefficients overlap = dot_each(p, product_);
    for (size_t i = 0; i < n; ++i) energy[i] = overlap[i].real();
  }
  progress.cost.add_applications(*base_, p.rhs(), 1);
  progress.cost.add_linear_algebra(p, normal_ ? 1 : 2, 4);
  if (base_shift_ != 0) {
    const Coefficients direction2 = norm2_each(p);
    for (size_t i = 0; i < n; ++i) energy[i] += base_shift_ * direction2[i];
    progress.cost.add_linear_algebra(p, 1, 2);
  }
  for (size_t i = 0; i < n; ++i) {
    alpha_[i] = 0;
    if (!progress.columns[i].is_active) continue;
    if (!std::isfinite(energy[i])) {
      alpha_.assign(n, 0.0);
      return progress.fail_all_not_finite();
    }
    if (energy[i] > 0)
      alpha_[i] = residual2_[i] / energy[i];
    else
      progress.fail(int(i), StopReason::broke_down);
  }
}

/// zeta' of a shift, and the coefficients of its update; false if no right-hand side needs it.
bool SharedKrylovSpace::advance(Shift& shift, Coefficients& weight, Coefficients& beta,
                                const Coefficients& next_beta) {
  bool is_needed = false;
  for (size_t i = 0; i < alpha_.size(); ++i) {
    weight[i] = beta[i] = 0;
    if (alpha_[i] == 0 || shift.is_done[i]) continue;
    const double history = alpha_[i] * beta_[i] / alpha_before_[i] * (1 - shift.ratio[i]);
    shift.ratio[i] = 1 / (1 + shift.distance * alpha_[i] + history);
    shift.zeta[i] *= shift.ratio[i];
    weight[i] = alpha_[i] * shift.zeta[i];
    beta[i] = next_beta[i] * shift.ratio[i];
    const SolveColumn& c = progress.columns[i];
    shift.is_done[i] = shift.zeta[i] * shift.zeta[i] * c.residual2 <= c.target2 || c.failed;
    is_needed = true;
  }
  return is_needed;
}

/// One iteration; false when nothing is left to do.
bool SharedKrylovSpace::step(std::vector<SpinorField>& x) {
  const size_t n = alpha_.size();
  step_lengths();
  if (!progress.any_active()) return false;
  const Coefficients one(n, 1.0), minus = negative(alpha_);
  if (base_shift_ != 0) {
    Coefficients minus_shift = minus;
    for (double& c : minus_shift) c *= base_shift_;
    combine(residual_, one, residual_, minus_shift, directions_[base_index_]);
    progress.cost.add_linear_algebra(residual_, 3, 2);
  }
  const Coefficients residual2 = combine_norm2(residual_, one, residual_, minus, product_);
  progress.record(residual2);
  Coefficients next_beta(n, 0.0), weight(n), beta(n);
  for (size_t i = 0; i < n; ++i)
    if (progress.columns[i].is_active) next_beta[i] = residual2[i] / residual2_[i];
  progress.cost.add_linear_algebra(residual_, 3, 4);
  for (size_t k = 0; k < shifts_.size(); ++k) {
    if (!advance(shifts_[k], weight, beta, next_beta)) continue;
    update_solution_and_direction(x[k], weight, directions_[k], beta, residual_);
    progress.cost.add_linear_algebra(residual_, 5, 4);
  }
  alpha_before_ = alpha_;
  beta_ = next_beta;
  residual2_ = residual2;
  return progress.any_active();
}

bool SharedKrylovSpace::iterate(std::vector<SpinorField>& x) {
  if (progress.any_active())
    while (step(x)) {}
  return std::all_of(progress.columns.begin(), progress.columns.end(),
                     [](const SolveColumn& c) { return c.failed || c.residual2 <= c.target2; });
}

void require_valid(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                   const std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  TRELLIS_REQUIRE(A != nullptr, "multi_shift_cg needs an operator");
  TRELLIS_REQUIRE(A->is_hermitian(), "multi_shift_cg needs a hermitian operator, which ", A->name(),
                  " is not");
  TRELLIS_REQUIRE(!shifts.empty() && x.size() == shifts.size(), "multi_shift_cg: ", x.size(),
                  " solutions for ", shifts.size(), " shifts");
  TRELLIS_REQUIRE(spec.tolerance > 0 && spec.tolerance < 1, "a solver's tolerance lies between 0 and 1, not ",
                  spec.tolerance);
  TRELLIS_REQUIRE(spec.max_iterations >= 1, "a solver needs at least one iteration, not ",
                  spec.max_iterations);
  for (const double shift : shifts)
    TRELLIS_REQUIRE(std::isfinite(shift), "a shift of ", A->name(), " is ", shift);
  FieldSpec domain = A->make_field(1).spec();
  domain.rhs = b.rhs();
  TRELLIS_REQUIRE(b.spec() == domain && b.precision() == Precision::double_precision,
                  "the source is not of the domain of ", A->name(), " in double");
  for (const SpinorField& f : x)
    TRELLIS_REQUIRE(f.spec() == b.spec() && f.lattice_ptr() == b.lattice_ptr(),
                    "solution and source differ in kind");
}

/// The true residual of one shift, and conjugate gradients of its own where that misses the tolerance.
SolveReport check_or_finish(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                            const MultiShiftSpec& spec, bool may_finish) {
  SolveReport report;
  report.relative_residual = relative_residual(A, x, b);
  SolveCost cost;
  cost.add_applications(A, b.rhs(), 1);
  cost.add_linear_algebra(b, 4, 6);
  report.flops = cost.flops;
  report.bytes = cost.bytes;
  report.converged = report.largest_residual() <= spec.tolerance;
  report.reason = report.converged ? StopReason::converged : StopReason::max_iterations;
  if (report.converged || !may_finish) return report;
  SolveReport finished = conjugate_gradient(A, x, b, {spec.tolerance, spec.max_iterations});
  finished.flops += cost.flops;
  finished.bytes += cost.bytes;
  return finished;
}

void add(SolveReport& report, const SolveReport& part) {
  report.reason = std::max(report.reason, part.reason);
  report.flops += part.flops;
  report.bytes += part.bytes;
  report.reliable_updates += part.reliable_updates;
  report.restarts += part.iterations > 0 ? 1 : 0;
  for (const double r : part.relative_residual) report.relative_residual.push_back(r);
}

}  // namespace

SolveReport multi_shift_cg(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                           std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  const auto start = std::chrono::steady_clock::now();
  require_valid(A, shifts, x, b, spec);
  for (SpinorField& f : x) set_zero(f);
  SharedKrylovSpace space(A, shifts, b, spec);
  const bool may_finish = space.iterate(x);
  SolveReport report;
  report.method = message("multi-shift cg, ", shifts.size(), " shifts");
  report.reason = StopReason::converged;
  report.flops = space.progress.cost.flops;
  report.bytes = space.progress.cost.bytes;
  report.history = space.progress.history;
  int own_iterations = 0;
  for (size_t k = 0; k < shifts.size(); ++k) {
    const SolveReport part = check_or_finish(ShiftedOperator(A, shifts[k]), x[k], b, spec, may_finish);
    own_iterations = std::max(own_iterations, part.iterations);
    add(report, part);
  }
  for (const SolveColumn& c : space.progress.columns)
    report.iterations = std::max(report.iterations, c.iterations);
  if (report.iterations == 0 && space.source_is_zero()) report.reason = StopReason::zero_source;
  report.iterations += own_iterations;
  report.converged = report.reason == StopReason::converged || report.reason == StopReason::zero_source;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace trellis
