#include "trellis/solver/even_odd_solve.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/field/linear_algebra.hpp"

namespace trellis {

namespace {

constexpr int most_corrections = 3;
/// What a solve of S in double can be asked for; a correction has the rest.
constexpr double least_tolerance = 1e-13;
/// A correction that leaves more than this of the largest residual is the last one.
constexpr double least_progress = 0.5;
/// The part of the tolerance that a correction aims at.
constexpr double correction_share = 0.5;

double largest(const std::vector<double>& residuals) {
  double worst = 0;
  for (const double r : residuals)
    if (!(r <= worst)) worst = r;  // NaN too
  return worst;
}

class EvenOddSolve {
 public:
  EvenOddSolve(const SolverSpec& spec, const SchurOperator& S, const SpinorField& b,
               const LinearOperatorPtr& inner)
      : spec_{spec},
        S_{S},
        full_{S.full()},
        b_{b},
        inner_{inner},
        source_{S.make_field(b.rhs())},
        solution_{S.make_field(b.rhs())} {}

  SolveReport run(SpinorField& x);

 private:
  SolveReport solve_through_schur(SpinorField& x, const SpinorField& b, double tolerance);
  bool correct(SpinorField& x, SolveReport& report);

  const SolverSpec& spec_;
  const SchurOperator& S_;
  LinearOperatorPtr full_;
  const SpinorField& b_;
  const LinearOperatorPtr& inner_;
  SpinorField source_, solution_;
};

/// M x = b from the guess in solution_, so that |b - M x| <= tolerance |b| is to be expected.
SolveReport EvenOddSolve::solve_through_schur(SpinorField& x, const SpinorField& b, double tolerance) {
  S_.prepare_source(source_, b);
  {
    SpinorField nothing = S_.make_field(b.rhs());
    S_.reconstruct(x, nothing, b);
  }
  const double ratio = largest(relative_residual(*full_, x, b));
  const double wanted = tolerance / (std::isfinite(ratio) ? std::max(1.0, ratio) : 1.0);
  SolveReport report =
      solve(with_tolerance(spec_, std::max(wanted, least_tolerance)), S_, solution_, source_, inner_);
  S_.reconstruct(x, solution_, b);
  return report;
}

/// x += dx with M dx = b - M x for the columns that miss the tolerance; false where that gains too little.
bool EvenOddSolve::correct(SpinorField& x, SolveReport& report) {
  const double tolerance = tolerance_of(spec_), worst = largest(report.relative_residual);
  const size_t columns = size_t(b_.rhs());
  Coefficients misses(columns, 0.0), minus(columns, 0.0);
  for (size_t i = 0; i < columns; ++i)
    if (!(report.relative_residual[i] <= tolerance)) {
      misses[i] = 1;
      minus[i] = -1;
    }
  SpinorField residual = SpinorField::like(b_), correction = SpinorField::like(b_);
  full_->apply(residual, x);
  combine(residual, misses, b_, minus, residual);
  set_zero(solution_);
  SolveReport solve = solve_through_schur(correction, residual, correction_share * tolerance / worst);
  {
    SpinorField image = SpinorField::like(b_);
    full_->apply(image, correction);
    const Coefficients before = norm_each(residual);
    const Coefficients after = combine_norm2(image, misses, residual, minus, image);
    for (size_t i = 0; i < columns; ++i)  // a correction that makes a column worse is not taken
      if (!(std::sqrt(after[i]) < before[i])) misses[i] = 0;
  }
  combine(x, Coefficients(columns, 1.0), x, misses, correction);
  solve.continues(report);
  report = std::move(solve);
  report.relative_residual = relative_residual(*full_, x, b_);
  return largest(report.relative_residual) <= least_progress * worst;
}

SolveReport EvenOddSolve::run(SpinorField& x) {
  const double tolerance = tolerance_of(spec_);
  S_.prepare_guess(solution_, x);
  SolveReport report = solve_through_schur(x, b_, tolerance);
  report.relative_residual = relative_residual(*full_, x, b_);
  for (int i = 0; i < most_corrections; ++i) {
    const double worst = largest(report.relative_residual);
    const bool ended_at_its_limit = report.converged || report.reason == StopReason::stagnated;
    if (worst <= tolerance || !std::isfinite(worst) || !ended_at_its_limit) break;
    if (!correct(x, report)) break;
  }
  if (largest(report.relative_residual) <= tolerance) {
    if (report.reason != StopReason::zero_source) report.reason = StopReason::converged;
    report.converged = true;
  } else {
    if (report.converged) report.reason = StopReason::full_system_stagnated;
    report.converged = false;
  }
  return report;
}

}  // namespace

SolveReport solve_even_odd(const SolverSpec& spec, const SchurOperator& S, SpinorField& x,
                           const SpinorField& b, const LinearOperatorPtr& inner) {
  return EvenOddSolve(spec, S, b, inner).run(x);
}

}  // namespace trellis
