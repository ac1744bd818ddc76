#include "trellis/solver/multi_shift_cg.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/shift_updates.hpp"
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
/// The smallest shift is updated at once, the others every second iteration: two residuals are kept.
class SharedKrylovSpace {
 public:
  /// In the storage of A and b. `claimed` is what every shift has to reach by the recursion.
  SharedKrylovSpace(const LinearOperatorPtr& A, const std::vector<double>& shifts, const SpinorField& b,
                    double claimed, const MultiShiftSpec& spec);
  /// False where the iterations ran out. @pre x[k] are zero
  bool iterate(std::vector<SpinorField>& x);
  bool source_is_zero() const {
    return std::all_of(norm2_.begin(), norm2_.end(), [](double n) { return n == 0; });
  }
  double mean_active_shifts() const { return iterations_ > 0 ? double(updated_) / iterations_ : 0.0; }
  SolveProgress progress;

 private:
  struct Shift {
    double distance;
    Coefficients zeta, ratio;  ///< zeta and zeta / zeta_before, per right-hand side
    std::vector<bool> is_done;
    std::vector<ShiftStep> pending;  ///< steps of x and p that were not yet taken
    bool is_active;
  };
  bool step(std::vector<SpinorField>& x);
  void step_lengths();
  bool advance(Shift& shift, ShiftStep& step, const Coefficients& next_beta);
  void take_pending_steps(std::vector<SpinorField>& x);

  LinearOperatorPtr base_;  ///< A, or A + the smallest shift where that is an operator of its own
  const NormalOperator* normal_;
  double base_shift_;  ///< what base_ lacks
  size_t base_index_;
  std::vector<Shift> shifts_;
  std::vector<SpinorField> directions_;
  SpinorField residuals_[2], product_;
  int now_ = 0;  ///< residuals_[now_] is r
  int pending_ = 0, iterations_ = 0;
  int64_t updated_ = 0;
  Coefficients norm2_, residual2_, alpha_, alpha_before_, beta_;
};

SharedKrylovSpace::SharedKrylovSpace(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                                     const SpinorField& b, double claimed, const MultiShiftSpec& spec)
    : progress(b.rhs(), spec.max_iterations, spec.records_history),
      base_{A},
      normal_{dynamic_cast<const NormalOperator*>(A.get())},
      base_index_{size_t(std::min_element(shifts.begin(), shifts.end()) - shifts.begin())},
      residuals_{b, SpinorField::like(b)},
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
    const double length = residual2_[i] / energy[i];
    if (energy[i] > 0 && is_usable(length))
      alpha_[i] = length;
    else
      progress.fail(int(i), StopReason::broke_down);
  }
}

/// zeta' of a shift, and the coefficients of its step; false if no right-hand side needs it.
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

/// All pending steps in one pass. A shift that was not needed in the last iteration has all-zero steps there.
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
  if (pending_ == 2) residuals.push_back(&residuals_[1 - now_]);
  residuals.push_back(&residuals_[now_]);
  update_shifts(solutions, directions, residuals, steps);
  progress.cost.add_linear_algebra(product_, 4.0 * double(solutions.size()) + pending_,
                                   4.0 * pending_ * double(solutions.size()));
  pending_ = 0;
}

/// One iteration; false when nothing is left to do.
bool SharedKrylovSpace::step(std::vector<SpinorField>& x) {
  const size_t n = alpha_.size();
  step_lengths();
  if (!progress.any_active()) return false;
  const Coefficients one(n, 1.0), minus = negative(alpha_);
  SpinorField &r = residuals_[now_], &next = residuals_[1 - now_];
  if (base_shift_ != 0) {
    combine(product_, one, product_, Coefficients(n, base_shift_), directions_[base_index_]);
    progress.cost.add_linear_algebra(r, 3, 2);
  }
  const Coefficients residual2 = combine_norm2(next, one, r, minus, product_);
  now_ = 1 - now_;
  progress.record(residual2);
  Coefficients next_beta(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    if (progress.columns[i].is_active) next_beta[i] = residual2[i] / residual2_[i];
  progress.cost.add_linear_algebra(r, 3, 4);
  ++pending_;
  ++iterations_;
  for (size_t k = 0; k < shifts_.size(); ++k) {
    Shift& shift = shifts_[k];
    if (!shift.is_active) continue;
    ShiftStep step{Coefficients(n, 0.0), Coefficients(n, 0.0)};
    shift.is_active = advance(shift, step, next_beta);
    updated_ += shift.is_active ? 1 : 0;
    if (k == base_index_) {
      if (!shift.is_active) continue;
      update_solution_and_direction(x[k], step.a, directions_[k], step.b, residuals_[now_]);
      progress.cost.add_linear_algebra(r, 5, 4);
    } else if (shift.is_active || !shift.pending.empty()) {
      shift.pending.push_back(std::move(step));
    }
  }
  if (pending_ == 2) take_pending_steps(x);
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

void require_valid(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                   const std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  TRELLIS_REQUIRE(A != nullptr, "multi_shift_cg needs an operator");
  TRELLIS_REQUIRE(A->is_hermitian(), "multi_shift_cg needs a hermitian operator, which ", A->name(),
                  " is not");
  TRELLIS_REQUIRE(!shifts.empty() && x.size() == shifts.size(), "multi_shift_cg: ", x.size(),
                  " solutions for ", shifts.size(), " shifts");
  TRELLIS_REQUIRE(spec.tolerance > 0 && spec.tolerance < 1, "a solver's tolerance lies between 0 and 1, not ",
                  spec.tolerance);
  TRELLIS_REQUIRE(spec.precision != Precision::half_precision,
                  "the recursion of multi_shift_cg runs in double or single, not in half");
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

SolveReport report_of(const SharedKrylovSpace& space, size_t shifts) {
  SolveReport report;
  report.method = message("multi-shift cg, ", shifts, " shifts");
  report.reason = StopReason::converged;
  report.flops = space.progress.cost.flops;
  report.bytes = space.progress.cost.bytes;
  report.history = space.progress.history;
  report.mean_active_shifts = space.mean_active_shifts();
  for (const SolveColumn& c : space.progress.columns)
    report.iterations = std::max(report.iterations, c.iterations);
  return report;
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

namespace {
/// What the recursion in float can be asked for: its true residual lags behind sooner or later, and the rest
/// is left to the solves that follow.
constexpr double claimed_in_float = 1e-6;
constexpr int columns_at_a_time = 4;

/// The recursion in double, then every shift checked and finished by itself.
SolveReport solve_in_double(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                            std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  SharedKrylovSpace space(A, shifts, b, spec.tolerance, spec);
  const bool may_finish = space.iterate(x);
  SolveReport report = report_of(space, shifts.size());
  int own_iterations = 0;
  for (size_t k = 0; k < shifts.size(); ++k) {
    const SolveReport part = check_or_finish(ShiftedOperator(A, shifts[k]), x[k], b, spec, may_finish);
    own_iterations = std::max(own_iterations, part.iterations);
    add(report, part);
  }
  if (report.iterations == 0 && space.source_is_zero()) report.reason = StopReason::zero_source;
  report.iterations += own_iterations;
  return report;
}

/// x = |b| times the low-precision solution of the source b / |b|, all shifts.
SolveReport run_in_low_precision(const LinearOperatorPtr& low, const std::vector<double>& shifts,
                                 std::vector<SpinorField>& x, const SpinorField& b,
                                 const MultiShiftSpec& spec) {
  Coefficients norm = norm2_each(b), inverse = norm;
  for (size_t i = 0; i < norm.size(); ++i) {
    if (!std::isfinite(norm[i]))
      throw NumericError(message("the source has a NaN or Inf in right-hand side ", i));
    norm[i] = std::sqrt(norm[i]);
    inverse[i] = norm[i] > 0 ? 1 / norm[i] : 0.0;
  }
  const Coefficients zero(norm.size(), 0.0);
  SpinorField unit = SpinorField::like(b), low_b = low->make_field(b.rhs());
  combine(unit, inverse, b, zero, b);
  convert(low_b, unit);
  std::vector<SpinorField> low_x;
  for (size_t k = 0; k < shifts.size(); ++k) low_x.push_back(SpinorField::like(low_b));
  SharedKrylovSpace space(low, shifts, low_b, std::max(spec.tolerance, claimed_in_float), spec);
  space.iterate(low_x);
  for (size_t k = 0; k < shifts.size(); ++k) {
    convert(x[k], low_x[k]);
    combine(x[k], norm, x[k], zero, x[k]);
  }
  space.progress.cost.add_linear_algebra(b, 3.0 + 3.0 * double(shifts.size()), 2);
  return report_of(space, shifts.size());
}

/// The recursion in single, then mixed precision for what it left, neighbouring shifts together: these take
/// about as many iterations, and share the links.
SolveReport solve_in_single(const LinearOperatorPtr& A, const LinearOperatorPtr& inner,
                            const std::vector<double>& shifts, std::vector<SpinorField>& x,
                            const SpinorField& b, const MultiShiftSpec& spec) {
  const LinearOperatorPtr low = inner ? inner : A->converted(spec.precision);
  SolveReport report = run_in_low_precision(low, shifts, x, b, spec);
  const size_t n = size_t(b.rhs());
  report.relative_residual.assign(shifts.size() * n, 0.0);
  std::vector<size_t> order(shifts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return shifts[i] < shifts[j]; });
  const size_t group = std::max(size_t(1), size_t(columns_at_a_time) / n);
  int own_iterations = 0;
  for (size_t first = 0; first < order.size(); first += group) {
    const size_t count = std::min(group, order.size() - first);
    Coefficients column_shifts;
    SpinorField columns = A->make_field(int(count * n)), sources = A->make_field(int(count * n));
    for (size_t k = 0; k < count; ++k) {
      copy_columns(columns, int(k * n), x[order[first + k]], 0, int(n));
      copy_columns(sources, int(k * n), b, 0, int(n));
      column_shifts.insert(column_shifts.end(), n, shifts[order[first + k]]);
    }
    // Not solve(), which may split the columns: each has its own shift.
    const SolveReport part =
        solve_mixed_precision(MixedPrecisionSpec{CgSpec{spec.tolerance, spec.max_iterations}, spec.precision},
                              ShiftedColumns(A, column_shifts),
                              std::make_shared<ShiftedColumns>(low, column_shifts), columns, sources);
    for (size_t k = 0; k < count; ++k) {
      copy_columns(x[order[first + k]], 0, columns, int(k * n), int(n));
      std::copy_n(part.relative_residual.begin() + std::ptrdiff_t(k * n), n,
                  report.relative_residual.begin() + std::ptrdiff_t(order[first + k] * n));
    }
    report.reason =
        std::max(report.reason, part.reason == StopReason::zero_source ? StopReason::converged : part.reason);
    report.flops += part.flops;
    report.bytes += part.bytes;
    report.restarts += part.iterations > 0 ? int(count) : 0;
    report.reliable_updates += part.reliable_updates;
    own_iterations = std::max(own_iterations, part.iterations);
  }
  const Coefficients norm = norm2_each(b);
  if (std::all_of(norm.begin(), norm.end(), [](double v) { return v == 0; }))
    report.reason = StopReason::zero_source;
  report.iterations += own_iterations;
  return report;
}
}  // namespace

SolveReport multi_shift_cg(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                           std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec,
                           const LinearOperatorPtr& inner) {
  const auto start = std::chrono::steady_clock::now();
  require_valid(A, shifts, x, b, spec);
  for (SpinorField& f : x) set_zero(f);
  SolveReport report = spec.precision == Precision::double_precision
                           ? solve_in_double(A, shifts, x, b, spec)
                           : solve_in_single(A, inner, shifts, x, b, spec);
  report.converged = report.reason == StopReason::converged || report.reason == StopReason::zero_source;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace trellis
