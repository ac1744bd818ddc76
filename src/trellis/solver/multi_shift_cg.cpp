#include "trellis/solver/multi_shift_cg.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/shared_krylov_space.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

void require_alike(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                   const std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  TRELLIS_REQUIRE(A != nullptr, "multi_shift_cg needs an operator");
  require_square(*A);
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
  require_in_range(*A, b, "the source");
  for (const SpinorField& f : x)
    TRELLIS_REQUIRE(f.spec() == b.spec() && f.lattice_ptr() == b.lattice_ptr(),
                    "solution and source differ in kind");
}

void require_valid(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                   const std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  require_alike(A, shifts, x, b, spec);
  TRELLIS_REQUIRE(!is_16_bit(spec.precision),
                  "the recursion of multi_shift_cg runs in double or single, not in 16 bits");
  TRELLIS_REQUIRE(b.precision() == Precision::double_precision, "the source of multi_shift_cg is in ",
                  name_of(b.precision()), " and not in double");
}

/// Computes the true residual of one shift, and solves on by conjugate gradients where that misses the
/// tolerance.
SolveReport check_or_finish(const LinearOperator& A, SpinorField& x, const SpinorField& b,
                            const MultiShiftSpec& spec, bool may_finish) {
  SolveReport report;
  report.relative_residual = relative_residual(A, x, b);
  SolveCost cost;
  cost.add_applications(A, b.rhs(), 1);
  cost.add_linear_algebra(b, 4, 6, 3, 2);
  report.cost = cost;
  report.converged = report.largest_residual() <= spec.tolerance;
  report.reason = report.converged ? StopReason::converged : StopReason::max_iterations;
  if (report.converged || !may_finish) return report;
  SolveReport finished = SolverSpec(CgSpec{spec.tolerance, spec.max_iterations})->solve(A, x, b);
  finished.cost += cost;
  return finished;
}

SolveReport report_of(const SharedKrylovSpace& space, size_t shifts) {
  SolveReport report;
  report.method = message("multi-shift cg, ", shifts, " shifts");
  report.reason = StopReason::converged;
  report.cost = space.progress.cost;
  report.history = space.progress.history;
  report.mean_active_shifts = space.mean_active_shifts();
  for (const SolveColumn& c : space.progress.columns)
    report.iterations = std::max(report.iterations, c.iterations);
  return report;
}

void add(SolveReport& report, const SolveReport& part) {
  report.reason = std::max(report.reason, part.reason);
  report.cost += part.cost;
  report.reliable_updates += part.reliable_updates;
  report.restarts += part.iterations > 0 ? 1 : 0;
  for (const double r : part.relative_residual) report.relative_residual.push_back(r);
}

}  // namespace

namespace {
/// So many shifts are finished together: two columns share each link that is loaded.
constexpr int columns_at_a_time = 2;
/// A finishing solve has this threshold: what the recursion left falls to the tolerance in one run, without a
/// residual in double on the way.
constexpr double finishing_threshold = 1e-4;

/// Runs the recursion in double, then checks and finishes every shift by itself.
SolveReport solve_in_double(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                            std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  SharedKrylovSpace space(A, shifts, b, spec.tolerance, spec.max_iterations, spec.records_history);
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

/// Computes x = |b| times the low-precision solution of the source b / |b| for all shifts.
SolveReport run_in_low_precision(const LinearOperatorPtr& low, const std::vector<double>& shifts,
                                 std::vector<SpinorField>& x, const SpinorField& b,
                                 const MultiShiftSpec& spec) {
  const Coefficients norm = norm_each(b);
  Coefficients inverse = norm;
  for (size_t i = 0; i < norm.size(); ++i) {
    if (!std::isfinite(norm[i]))
      throw NumericError(message("the source has a NaN or Inf in right-hand side ", i));
    inverse[i] = norm[i] > 0 ? 1 / norm[i] : 0.0;
  }
  const Coefficients zero(norm.size(), 0.0);
  SpinorField unit = SpinorField::like(b), low_b = low->make_field(b.rhs());
  combine(unit, inverse, b, zero, b);
  convert(low_b, unit);
  std::vector<SpinorField> low_x;
  for (size_t k = 0; k < shifts.size(); ++k) low_x.push_back(SpinorField::like(low_b));
  SharedKrylovSpace space(low, shifts, low_b, spec.tolerance, spec.max_iterations, spec.records_history);
  space.iterate(low_x);
  for (size_t k = 0; k < shifts.size(); ++k) {
    convert(x[k], low_x[k]);
    combine(x[k], norm, x[k], zero, x[k]);
  }
  space.progress.cost.add_linear_algebra(b, 3.0 + 3.0 * double(shifts.size()), 2, int(shifts.size()) + 2, 1);
  return report_of(space, shifts.size());
}

/// The recursion in single goes on to the tolerance. What its rounding leaves of the true residual is spread
/// over the whole spectrum, unlike the residual of a recursion that stopped early, and a few iterations in
/// mixed precision remove it, neighbouring shifts together.
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
    // This is not solve(), which may split the columns: each has its own shift.
    const SolverSpec finish =
        MixedPrecisionSpec{CgSpec{spec.tolerance, spec.max_iterations}, spec.precision, finishing_threshold};
    OperatorCopies system(std::make_shared<ShiftedColumns>(A, column_shifts));
    system.provide(std::make_shared<ShiftedColumns>(low, column_shifts));
    const SolveReport part = finish->solve(system, columns, sources);
    for (size_t k = 0; k < count; ++k) {
      copy_columns(x[order[first + k]], 0, columns, int(k * n), int(n));
      std::copy_n(part.relative_residual.begin() + std::ptrdiff_t(k * n), n,
                  report.relative_residual.begin() + std::ptrdiff_t(order[first + k] * n));
    }
    report.reason =
        std::max(report.reason, part.reason == StopReason::zero_source ? StopReason::converged : part.reason);
    report.cost += part.cost;
    report.restarts += part.iterations > 0 ? int(count) : 0;
    report.reliable_updates += part.reliable_updates;
    own_iterations = std::max(own_iterations, part.iterations);
  }
  const Coefficients norm = norm_each(b);
  report.cost += cost_of_passes(b.lattice(), b.spec(), 1, 2, 1, 1);
  if (std::all_of(norm.begin(), norm.end(), [](double v) { return v == 0; }))
    report.reason = StopReason::zero_source;
  report.iterations += own_iterations;
  return report;
}
}  // namespace

SolveReport multi_shift_cg(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                           std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec,
                           const LinearOperatorPtr& inner) {
  const Stopwatch watch;
  require_valid(A, shifts, x, b, spec);
  for (SpinorField& f : x) set_zero(f);
  SolveReport report = spec.precision == Precision::double_precision
                           ? solve_in_double(A, shifts, x, b, spec)
                           : solve_in_single(A, inner, shifts, x, b, spec);
  report.converged = report.reason == StopReason::converged || report.reason == StopReason::zero_source;
  report.seconds = watch.seconds();
  return report;
}

SolveReport multi_shift_recursion(const LinearOperatorPtr& A, const std::vector<double>& shifts,
                                  std::vector<SpinorField>& x, const SpinorField& b,
                                  const MultiShiftSpec& spec) {
  const Stopwatch watch;
  require_alike(A, shifts, x, b, spec);
  TRELLIS_REQUIRE(!is_16_bit(b.precision()),
                  "the recursion of a multi-shift solver runs in double or single, not in 16 bits");
  for (SpinorField& f : x) set_zero(f);
  SharedKrylovSpace space(A, shifts, b, spec.tolerance, spec.max_iterations, spec.records_history);
  const bool is_done = space.iterate(x);
  const size_t smallest = size_t(std::min_element(shifts.begin(), shifts.end()) - shifts.begin());
  SolveCost check;
  check.add_applications(*A, b.rhs(), 1);
  SolveReport report = report_of(space, shifts.size());
  report.relative_residual = relative_residual(ShiftedOperator(A, shifts[smallest]), x[smallest], b);
  report.cost += check;
  if (space.source_is_zero()) report.reason = StopReason::zero_source;
  for (const SolveColumn& column : space.progress.columns)
    if (column.failed) report.reason = std::max(report.reason, column.failure);
  if (!is_done && report.reason == StopReason::converged) report.reason = StopReason::max_iterations;
  report.converged = is_done;
  report.seconds = watch.seconds();
  return report;
}

}  // namespace trellis
