#include "trellis/solver/residual_correction.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"

namespace trellis {

namespace {

constexpr int failures_allowed = 3;         // a column is given up after so many breakdowns
constexpr double careful_reduction = 0.3;   // a run of a column that broke down reduces by this
constexpr int idle_runs_allowed = 3;        // so many runs in a row may leave the true residual as it was
constexpr double claimed_progress2 = 0.64;  // a run is judged if its recursion claims this of |r|^2,
constexpr double least_progress2 = 0.8;     // and was idle if more than this is left in truth
constexpr double least_reduction = 1e-18;   // below this, in one run, a recursion in double counts rounding
constexpr double threshold_over_drift = 8;  // a run ends where rounding is an eighth of what is left
constexpr double threshold_range = 10, largest_threshold = 0.3;

}  // namespace

CorrectionParams::CorrectionParams(const SolveLimits& limits, const StagnationRule& rule)
    : tolerance{limits.iterations > 0 ? 0 : limits.tolerance},
      tightened{limits.tightened},
      max_iterations{limits.iterations > 0 ? limits.iterations : limits.max_iterations},
      records_history{limits.records_history},
      is_fixed{limits.iterations > 0},
      stagnation{limits.iterations > 0 ? StagnationRule{} : rule} {
  TRELLIS_REQUIRE(limits.iterations >= 0, "a solver does a number of iterations, not ", limits.iterations);
}

namespace {

void require_valid(const LinearOperator& A, const SpinorField& x, const SpinorField& b,
                   const CorrectionParams& params) {
  require_square(A);
  TRELLIS_REQUIRE(params.is_fixed || (params.tolerance > 0 && params.tolerance < 1),
                  "a solver's tolerance lies between 0 and 1, not ", params.tolerance);
  TRELLIS_REQUIRE(params.tightened.empty() || params.tightened.size() == size_t(b.rhs()),
                  params.tightened.size(), " tolerances for ", b.rhs(), " right-hand sides");
  TRELLIS_REQUIRE(params.max_iterations >= 1, "a solver needs at least one iteration, not ",
                  params.max_iterations);
  TRELLIS_REQUIRE(x.lattice_ptr() == b.lattice_ptr() && x.spec() == b.spec(),
                  "solution and source differ in lattice, subset, storage or number of right-hand sides");
  require_in_range(A, b, "the source");
  TRELLIS_REQUIRE(b.precision() == Precision::double_precision,
                  "the true residual is computed in double, but ", A.name(), " is stored in ",
                  name_of(b.precision()), "; low storage goes inside a mixed solver");
}

Coefficients finite_norms(const SpinorField& f, const char* what) {
  const Coefficients norms = norm_each(f);
  for (size_t i = 0; i < norms.size(); ++i)
    if (!std::isfinite(norms[i]))
      throw NumericError(message("the ", what, " has a NaN or Inf in right-hand side ", i));
  return norms;
}

class ResidualCorrection {
 public:
  ResidualCorrection(const LinearOperator& A, const LinearOperator& inner, SpinorField& x,
                     const SpinorField& b, const CorrectionParams& params)
      : A_{A},
        x_{x},
        b_{b},
        params_{params},
        progress_(b.rhs(), params.max_iterations, params.records_history, params.tolerance,
                  params.stagnation),
        claimed2_(size_t(b.rhs()), 0.0),
        idle_runs_(size_t(b.rhs()), 0),
        failures_(size_t(b.rhs()), 0),
        residual_{SpinorField::like(b)},
        work_{SpinorField::like(b)} {
    progress_.update_threshold = params.update_threshold;
    progress_.keeps_waiting_columns = params.update_threshold == 0;
    const FieldSpec low = inner.domain(b.rhs());
    if (low != b.spec()) {
      low_residual_.emplace(b.lattice_ptr(), low);
      low_correction_.emplace(b.lattice_ptr(), low);
      before_.emplace(SpinorField::like(b));
    }
  }

  SolveReport solve(KrylovMethod& method);

 private:
  void normalise();
  void compute_true_residual();
  void adapt_threshold();
  void judge(KrylovMethod& method);
  bool claims_progress(size_t i) const;
  bool is_idle(size_t i) const;
  void judge_column(int column, KrylovMethod& method);
  void undo_increases();
  Coefficients lower_residual();
  void run_method(KrylovMethod& method);
  SolveReport report() const;

  double tolerance2(size_t i) const {
    const double t = params_.tightened.empty() ? params_.tolerance : params_.tightened[i] * params_.tolerance;
    return t * t;
  }

  const LinearOperator& A_;
  SpinorField& x_;
  const SpinorField& b_;
  CorrectionParams params_;
  SolveProgress progress_;
  Coefficients norm_, inverse_norm_;  // they are |b| and 1/|b|, both 0 for a zero right-hand side
  std::vector<double> claimed2_;      // the recursion of the last run says this of |r|^2 / |b|^2
  std::vector<int> idle_runs_, failures_;
  std::vector<StopReason> outcome_;  // a column has its own, final once it no longer runs
  std::vector<bool> is_finished_;
  bool guess_is_zero_ = false, is_first_check_ = true;
  int runs_ = 0;
  SpinorField residual_, work_;  // both are in double; work_ is A x, and the correction of a double method
  std::optional<SpinorField> low_residual_, low_correction_;
  std::optional<SpinorField> before_;  // it is x before the last correction in low storage
};

/// Gives columns with b = 0 the solution x = 0, whatever the guess was.
void ResidualCorrection::normalise() {
  const size_t n = size_t(b_.rhs());
  norm_ = finite_norms(b_, "source");
  const Coefficients guess = finite_norms(x_, "first guess");
  Coefficients keeps_guess(n, 1.0);
  bool any_zero_source = false;
  for (size_t i = 0; i < n; ++i) {
    inverse_norm_.push_back(norm_[i] > 0 ? 1.0 / norm_[i] : 0.0);
    if (!std::isfinite(inverse_norm_[i]))
      throw NumericError(message("the source has the norm ", norm_[i], " in right-hand side ", i,
                                 ": that is below the normal range of double"));
    if (norm_[i] == 0) {
      keeps_guess[i] = 0;
      any_zero_source = true;
    }
  }
  guess_is_zero_ = std::all_of(guess.begin(), guess.end(), [](double v) { return v == 0; });
  if (any_zero_source && !guess_is_zero_) combine(x_, keeps_guess, x_, Coefficients(n, 0.0), x_);
  outcome_.assign(n, StopReason::converged);
  is_finished_.assign(n, false);
  progress_.cost.add_norms(b_, norm_);
  progress_.cost.add_norms(b_, guess);
}

/// Computes residual = (b - A x) / |b|, and puts its norms into the columns.
void ResidualCorrection::compute_true_residual() {
  Coefficients residual2, minus(inverse_norm_);
  for (double& c : minus) c = -c;
  if (is_first_check_ && guess_is_zero_) {
    residual2 = combine_norm2(residual_, inverse_norm_, b_, Coefficients(minus.size(), 0.0), b_);
  } else {
    A_.apply(work_, x_);
    progress_.cost.add_applications(A_, b_.rhs(), 1);
    residual2 = combine_norm2(residual_, inverse_norm_, b_, minus, work_);
  }
  progress_.cost.add_linear_algebra(b_, 3, 5, 1, 1);
  for (size_t i = 0; i < residual2.size(); ++i) {
    progress_.columns[i].residual2 = residual2[i];
    if (std::isfinite(residual2[i])) progress_.columns[i].record.correct(residual2[i]);
  }
}

/// Says whether the recursion of the last run was done, or claims progress.
bool ResidualCorrection::claims_progress(size_t i) const {
  const SolveColumn& c = progress_.columns[i];
  return claimed2_[i] <= c.target2 || claimed2_[i] <= claimed_progress2 * c.start2;
}

/// Says whether the recursion of the last run claims progress that the true residual does not show.
bool ResidualCorrection::is_idle(size_t i) const {
  const SolveColumn& c = progress_.columns[i];
  return !is_first_check_ && claims_progress(i) && c.residual2 > least_progress2 * c.start2;
}

/// Takes corrections in low storage back after which the true residual is larger than before, where no more
/// of this run comes: what 16 bits cannot solve must not end farther from b than it began.
void ResidualCorrection::undo_increases() {
  if (is_first_check_ || !before_) return;
  bool any = false;
  for (int i = 0; i < progress_.rhs(); ++i) {
    SolveColumn& c = progress_.columns[size_t(i)];
    const bool is_finite = std::isfinite(c.residual2);
    const bool is_over =
        !is_finite || c.failed || c.iterations >= params_.max_iterations || claims_progress(size_t(i));
    if (is_finished_[size_t(i)] || !is_over || c.residual2 <= c.start2) continue;
    if (!is_finite && !c.failed) {
      c.failed = true;
      c.failure = StopReason::not_finite;
    }
    copy_columns(x_, i, *before_, i, 1);
    any = true;
  }
  if (any) compute_true_residual();
}

void ResidualCorrection::judge_column(int column, KrylovMethod& method) {
  const size_t i = size_t(column);
  SolveColumn& c = progress_.columns[i];
  const auto finish = [&](StopReason reason) {
    outcome_[i] = reason;
    is_finished_[i] = true;
  };
  if (norm_[i] == 0) return finish(StopReason::zero_source);
  if (!std::isfinite(c.residual2)) return finish(StopReason::not_finite);
  if (c.residual2 <= tolerance2(i))
    return finish(params_.is_fixed ? StopReason::fixed_iterations : StopReason::converged);
  if (c.is_stuck) return finish(StopReason::stagnated);
  if (c.failed) {
    // It is not finite: numbers may have left the range of the storage inside, and a new beginning can help.
    if (++failures_[i] > failures_allowed) return finish(c.failure);
    method.forget(column);
  }
  if (c.iterations >= params_.max_iterations)
    return finish(params_.is_fixed ? StopReason::fixed_iterations : StopReason::max_iterations);
  if (is_idle(i)) {
    if (++idle_runs_[i] >= idle_runs_allowed) return finish(StopReason::stagnated);
    method.forget(column);
    ++progress_.restarts;
  } else {
    idle_runs_[i] = 0;
  }
  // The same run would fail again: a shorter one ends before it.
  const double reduction =
      std::max(params_.reduction_per_run, failures_[i] > 0 ? careful_reduction : least_reduction);
  const double reduced = reduction * reduction * c.residual2;
  c.target2 = std::max(tolerance2(i), reduced);
  c.start2 = c.largest2 = c.residual2;
  c.is_active = true;
}

/// What is left in truth beyond the claim of the last run is rounding; it is proportional to the residual
/// that the run began with.
void ResidualCorrection::adapt_threshold() {
  if (!params_.is_threshold_adapted || is_first_check_) return;
  double drift2 = 0;
  for (size_t i = 0; i < claimed2_.size(); ++i) {
    const SolveColumn& c = progress_.columns[i];
    if (!is_finished_[i] && !c.failed && c.start2 > 0)
      drift2 = std::max(drift2, (c.residual2 - claimed2_[i]) / c.start2);
  }
  progress_.update_threshold = std::clamp(threshold_over_drift * std::sqrt(drift2),
                                          params_.update_threshold / threshold_range, largest_threshold);
}

void ResidualCorrection::judge(KrylovMethod& method) {
  adapt_threshold();
  for (int i = 0; i < progress_.rhs(); ++i) {
    progress_.columns[size_t(i)].is_active = false;
    if (!is_finished_[size_t(i)]) judge_column(i, method);
    progress_.columns[size_t(i)].failed = false;
  }
  is_first_check_ = false;
}

/// Changes the unit of a column's residuals.
void change_unit(SolveColumn& c, double unit2) {
  const double factor = c.unit2 / unit2;
  for (double* residual2 : {&c.target2, &c.start2, &c.residual2, &c.largest2}) *residual2 *= factor;
  c.unit2 = unit2;
}

/// Forms the residual in the storage of the method, and returns the factor of its corrections.
Coefficients ResidualCorrection::lower_residual() {
  Coefficients weight = norm_;
  if (low_residual_->precision() == Precision::fp16_precision) {
    Coefficients factor(weight.size(), 1.0);
    for (size_t i = 0; i < weight.size(); ++i) {
      SolveColumn& c = progress_.columns[i];
      if (!c.is_active) continue;
      const double unit = std::sqrt(c.residual2) / fp16_norm;
      factor[i] = 1 / unit;
      weight[i] *= unit;
      change_unit(c, unit * unit);
    }
    combine(residual_, factor, residual_, Coefficients(factor.size(), 0.0), residual_);
    progress_.cost.add_linear_algebra(b_, 2, 1, 1, 0);
  }
  convert(*low_residual_, residual_);
  return weight;
}

/// A correction after which the recursion had more residual than before is not taken if the method failed.
void ResidualCorrection::run_method(KrylovMethod& method) {
  SpinorField& r = low_residual_ ? *low_residual_ : residual_;
  SpinorField& d = low_correction_ ? *low_correction_ : work_;
  Coefficients weight = low_residual_ ? lower_residual() : norm_;
  set_zero(d);
  if (before_) copy(*before_, x_);
  method.run(d, r, progress_);
  if (low_correction_) convert(work_, d);
  for (SolveColumn& c : progress_.columns) change_unit(c, 1);
  for (size_t i = 0; i < weight.size(); ++i) {
    const SolveColumn& c = progress_.columns[i];
    claimed2_[i] = c.residual2;
    if (is_finished_[i] || (c.failed && c.residual2 > c.start2)) weight[i] = 0;
  }
  combine(x_, Coefficients(weight.size(), 1.0), x_, weight, work_);
  progress_.cost.add_linear_algebra(b_, low_correction_ ? 9 : 4, 2, 1, 0);
  ++runs_;
}

SolveReport ResidualCorrection::report() const {
  SolveReport report;
  const bool all_zero = std::all_of(norm_.begin(), norm_.end(), [](double n) { return n == 0; });
  report.reason = all_zero ? StopReason::zero_source : StopReason::converged;
  for (size_t i = 0; i < norm_.size(); ++i) {
    report.iterations = std::max(report.iterations, progress_.columns[i].iterations);
    report.relative_residual.push_back(std::sqrt(progress_.columns[i].residual2));
    if (norm_[i] != 0) report.reason = std::max(report.reason, outcome_[i]);
  }
  if (!all_zero && report.reason == StopReason::zero_source) report.reason = StopReason::converged;
  if (params_.is_fixed) report.reason = std::max(report.reason, StopReason::fixed_iterations);
  report.converged = report.reason == StopReason::converged || report.reason == StopReason::zero_source;
  report.reliable_updates = std::max(runs_ - 1, 0);
  report.restarts = progress_.restarts;
  report.cost = progress_.cost;
  report.history = progress_.history;
  return report;
}

SolveReport ResidualCorrection::solve(KrylovMethod& method) {
  normalise();
  for (;;) {
    compute_true_residual();
    undo_increases();
    judge(method);
    if (!progress_.any_active()) return report();
    run_method(method);
  }
}

}  // namespace

SolveReport correct_residual(const LinearOperator& A, const LinearOperator& inner, KrylovMethod& method,
                             SpinorField& x, const SpinorField& b, const CorrectionParams& params) {
  const Stopwatch watch;
  require_valid(A, x, b, params);
  SolveReport report = ResidualCorrection(A, inner, x, b, params).solve(method);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace trellis
