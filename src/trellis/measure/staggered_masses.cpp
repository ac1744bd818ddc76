#include "trellis/measure/staggered_masses.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

namespace {
bool is_zero(const SpinorField& field) {
  const Coefficients norms = norm_each(field);
  return std::all_of(norms.begin(), norms.end(), [](double norm) { return norm == 0; });
}

/// Computes y_k on the sites of one parity, for all masses; it does nothing where b is zero there.
void solve_parity(const StaggeredMatrixPtr& lightest, const std::vector<double>& shifts, int parity,
                  std::vector<SpinorField>& y, const SpinorField& b, const MultiShiftSpec& spec,
                  SolveReport& report) {
  const auto squared = std::make_shared<StaggeredSchur>(lightest, 0.0, parity);
  const SpinorField zero = lightest->hopping().make_field(subset_of(parity), b.rhs());
  SpinorField source = zero;
  extract_parity(source, b);
  if (is_zero(source)) return;
  std::vector<SpinorField> solutions(shifts.size(), zero);
  const SolveReport found = multi_shift_cg(squared, shifts, solutions, source, spec);
  for (size_t k = 0; k < shifts.size(); ++k) insert_parity(y[k], solutions[k]);
  if (report.method.empty())
    report = found;
  else
    report.add(found);
}

/// Computes out = m in +- D in.
void apply(SpinorField& out, const StaggeredHopping& hop, double mass, double sign, const SpinorField& in) {
  for (int parity = 0; parity < 2; ++parity) hop.apply(out, parity, in, 0.5 * sign, &in, mass);
}

/// Returns |b - M x| / |b| of each right-hand side, or 0 for a zero one.
Coefficients residuals(const StaggeredHopping& hop, double mass, const SpinorField& x, const SpinorField& b) {
  SpinorField r = SpinorField::like(b);
  apply(r, hop, mass, 1.0, x);
  combine(r, 1.0, b, -1.0, r);
  Coefficients found = norm_each(r);
  const Coefficients norms = norm_each(b);
  for (size_t i = 0; i < found.size(); ++i) found[i] = found[i] == 0 ? 0.0 : found[i] / norms[i];
  return found;
}

double largest(const Coefficients& values) {
  double found = 0;
  for (const double value : values)
    if (!(value <= found)) found = value;
  return found;
}
}  // namespace

SolveReport solve_masses(const StaggeredMatrix& matrix, const std::vector<double>& masses,
                         std::vector<SpinorField>& x, const SpinorField& b, const MultiShiftSpec& spec) {
  const Stopwatch watch;
  TRELLIS_REQUIRE(!masses.empty(), "a solve for many masses needs at least one");
  for (const double mass : masses)
    TRELLIS_REQUIRE(std::isfinite(mass) && mass != 0, "a mass of a solve for many masses is ", mass,
                    ": expected another number than 0");
  TRELLIS_REQUIRE(b.subset() == Subset::full && b.precision() == Precision::double_precision,
                  "the source of a solve for many masses is a full field in double");
  const auto smaller = [](double m, double n) { return std::abs(m) < std::abs(n); };
  const double least = std::abs(*std::min_element(masses.begin(), masses.end(), smaller));
  const StaggeredLinksPtr& links = matrix.hopping().links();
  const auto lightest = std::make_shared<StaggeredMatrix>(links, matrix.phases(), least);
  std::vector<double> shifts;
  for (const double mass : masses) shifts.push_back(mass * mass - least * least);
  x.assign(masses.size(), SpinorField::like(b));
  SolveReport report;
  for (int parity = 0; parity < 2; ++parity) solve_parity(lightest, shifts, parity, x, b, spec, report);
  if (report.method.empty()) report.reason = StopReason::zero_source;
  report.method = message("multi-shift cg, ", masses.size(), " masses");
  report.relative_residual.clear();
  const bool may_finish = report.reason <= StopReason::zero_source;
  SolveCost checks;
  const StaggeredHopping& hop = lightest->hopping();
  SpinorField solution = SpinorField::like(b);
  for (size_t k = 0; k < masses.size(); ++k) {
    apply(solution, hop, masses[k], -1.0, x[k]);
    std::swap(solution, x[k]);
    Coefficients found = residuals(hop, masses[k], x[k], b);
    checks.add_applications(StaggeredOperator(lightest), b.rhs(), 2);
    checks.add_linear_algebra(b, 5, 7, 3, 2);
    if (may_finish && !(largest(found) <= spec.tolerance)) {
      const auto own = std::make_shared<StaggeredMatrix>(links, matrix.phases(), masses[k]);
      const SolveReport finished =
          solve(EvenOddSpec{CgSpec{spec.tolerance, spec.max_iterations}}, StaggeredOperator(own), x[k], b);
      report.continues(finished);
      report.reason = std::max(report.reason, finished.reason);
      found = residuals(hop, masses[k], x[k], b);
    }
    report.relative_residual.insert(report.relative_residual.end(), found.begin(), found.end());
  }
  report.cost += checks;
  report.converged = largest(report.relative_residual) <= spec.tolerance;
  if (report.converged && report.reason != StopReason::zero_source) report.reason = StopReason::converged;
  report.seconds = watch.seconds();
  return report;
}

size_t solve_masses_bytes(const Geometry& geometry, int masses, int columns, Precision precision) {
  const size_t vector = size_t(geometry.local_volume()) * size_t(columns) * 6;
  const size_t full = vector * element_bytes(Precision::double_precision);
  // There are source, solutions, and two more in the operator's checks. Half the sites have x of the
  // recursion in double, and x and p of each shift, r, A p and the operator's vector in its own precision.
  const size_t half = full / 2, low = vector / 2 * element_bytes(precision);
  return full * size_t(3 + masses) + half * size_t(masses + 4) + low * size_t(2 * masses + 6);
}

}  // namespace trellis
