#include "trellis/update/pseudofermions.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/source/normal_field.hpp"
#include "trellis/solver/multi_shift_cg.hpp"

namespace trellis {

namespace {
/// Below this, corrections of a float recursion cost more than they save.
constexpr double smallest_float_tolerance = 1e-11;

void fill_normal(SpinorField& eta, const TrajectoryKey& key, RandomPurpose purpose, uint32_t id) {
  TRELLIS_REQUIRE(id < 4096 && eta.rhs() <= 4096 && eta.reals() % 2 == 0, "random field ", id, " with ",
                  eta.rhs(), " vectors of ", eta.reals(), " reals");
  TRELLIS_REQUIRE(eta.slices() == 1 && eta.precision() == Precision::double_precision,
                  "random fields are drawn in double on four dimensions, not in ", name_of(eta.precision()),
                  " with ", eta.slices(), " slices");
  const Backend backend = eta.spec().backend;
  const SiteTablesPtr tables = eta.lattice().site_tables(eta.layout_ptr(), backend);
  NormalFieldCall call;
  call.key = random_key(key.seed, key.stream);
  call.purpose = purpose;
  call.trajectory = key.trajectory;
  call.first_draw = id << 20;
  call.reals = eta.reals();
  call.slots = eta.slots();
  for (int parity = first_parity(eta.subset()); parity <= last_parity(eta.subset()); ++parity) {
    call.out = eta.raw(parity);
    call.sites = tables->global_sites(parity);
    dispatch_double(backend, eta.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_normal_field<Layout, Storage>(call, SiteRange(eta.layout().blocks(parity)));
    });
  }
}

/// Counts the eigenvalues below x of the symmetric tridiagonal matrix (Sturm's count).
int count_below(const std::vector<double>& diagonal, const std::vector<double>& off, double x) {
  int count = 0;
  double d = 1;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    const double square = i == 0 ? 0.0 : off[i - 1] * off[i - 1];
    d = diagonal[i] - x - (d == 0 ? square / 1e-300 : square / d);
    count += d < 0;
  }
  return count;
}

/// Finds the k-th eigenvalue (from 0) by bisection.
double tridiagonal_eigenvalue(const std::vector<double>& diagonal, const std::vector<double>& off, int k) {
  double low = 1e300, high = -1e300;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    const double radius = (i > 0 ? std::abs(off[i - 1]) : 0) + (i < off.size() ? std::abs(off[i]) : 0);
    low = std::min(low, diagonal[i] - radius);
    high = std::max(high, diagonal[i] + radius);
  }
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    (count_below(diagonal, off, middle) > k ? high : low) = middle;
  }
  return 0.5 * (low + high);
}
}  // namespace

void require_solved(const Monomial& monomial, const SolveReport& report, double tolerance,
                    const std::string& max_iterations) {
  if (report.converged) return;
  const bool ran_out = report.reason == StopReason::max_iterations;
  throw NumericError(message("monomial ", monomial.name(), ": ", report.method,
                             " reached |r|/|b| = ", report.largest_residual(), " (asked: ", tolerance, "; ",
                             name_of(report.reason), ", max_iterations = ", max_iterations, "): raise ",
                             ran_out ? "max_iterations or " : "", "the residual, or take a heavier quark"));
}

void set_normal(SpinorField& eta, const TrajectoryKey& key, uint32_t id) {
  fill_normal(eta, key, RandomPurpose::pseudofermion, id);
}

namespace {
/// Solves to the tolerance by true residuals; iterates in float where that pays.
SolveReport solve_in_double(std::vector<SpinorField>& x, SquaredOperator& fermion, const RationalSolve& solve,
                            const SpinorField& b) {
  MultiShiftSpec spec{solve.tolerance, solve.max_iterations};
  LinearOperatorPtr inner;
  if (solve.tolerance >= smallest_float_tolerance) {
    spec.precision = Precision::single_precision;
    inner = fermion.converted_op(Precision::single_precision);
  }
  return multi_shift_cg(fermion.op(), solve.function.shifts, x, b, spec, inner);
}

/// Solves by the recursion in float and converts the solutions.
SolveReport solve_in_float(std::vector<SpinorField>& x, SquaredOperator& fermion, const RationalSolve& solve,
                           const SpinorField& b) {
  TRELLIS_REQUIRE(solve.tolerance >= smallest_single_tolerance, "a residual of ", solve.tolerance,
                  " in single precision: at least ", smallest_single_tolerance);
  const LinearOperatorPtr A = fermion.converted_op(Precision::single_precision);
  SpinorField low_b = A->make_field(b.rhs());
  convert(low_b, b);
  std::vector<SpinorField> low_x;
  for (size_t k = 0; k < x.size(); ++k) low_x.push_back(SpinorField::like(low_b));
  const SolveReport report =
      multi_shift_recursion(A, solve.function.shifts, low_x, low_b, {solve.tolerance, solve.max_iterations});
  for (size_t k = 0; k < x.size(); ++k) convert(x[k], low_x[k]);
  return report;
}
}  // namespace

void solve_shifts(std::vector<SpinorField>& x, SquaredOperator& fermion, const RationalSolve& solve,
                  const SpinorField& b, Monomial& monomial) {
  const size_t n = solve.function.shifts.size();
  while (x.size() > n) x.pop_back();
  while (x.size() < n) x.push_back(SpinorField::like(b));
  PartCost& cost = monomial.costs()[Part::solver];
  const PartTimer timer(cost);
  const SolveReport report = solve.precision == Precision::single_precision
                                 ? solve_in_float(x, fermion, solve, b)
                                 : solve_in_double(x, fermion, solve, b);
  cost.flops += report.cost.flops;
  cost.bytes += report.cost.bytes;
  SolveCount& count = monomial.solve_count();
  ++count.solves;
  count.iterations += report.iterations;
  count.largest_residual = std::max(count.largest_residual, report.largest_residual());
  const bool is_finished = solve.precision == Precision::double_precision;
  require_solved(monomial, report, solve.tolerance,
                 message(solve.max_iterations, " of all shifts together",
                         is_finished ? ", and again of each by itself" : ""));
}

void apply_rational(SpinorField& out, std::vector<SpinorField>& x, SquaredOperator& fermion,
                    const RationalSolve& solve, const SpinorField& b, Monomial& monomial) {
  solve_shifts(x, fermion, solve, b, monomial);
  scale(out, solve.function.constant, b);
  for (size_t k = 0; k < x.size(); ++k) combine(out, 1.0, out, solve.function.residues[k], x[k]);
}

namespace {
/// Returns |last component| of the normalised eigenvector of the symmetric tridiagonal matrix to its smallest
/// eigenvalue, by two steps of inverse iteration.
double last_component(const std::vector<double>& diagonal, const std::vector<double>& off,
                      double eigenvalue) {
  const size_t n = diagonal.size();
  const double shift = eigenvalue - 1e-10 * std::abs(eigenvalue);  // it lies below it: all pivots are
                                                                   // positive
  std::vector<double> pivot(n), y(n, 1.0);
  for (size_t i = 0; i < n; ++i) {
    pivot[i] = diagonal[i] - shift - (i > 0 ? off[i - 1] * off[i - 1] / pivot[i - 1] : 0.0);
    pivot[i] = std::max(pivot[i], 1e-16 * std::abs(diagonal[i]));  // rounding may have crossed it
  }
  for (int step = 0; step < 2; ++step) {
    for (size_t i = 1; i < n; ++i) y[i] -= off[i - 1] / pivot[i - 1] * y[i - 1];
    y[n - 1] /= pivot[n - 1];
    for (size_t i = n - 1; i-- > 0;) y[i] = (y[i] - off[i] * y[i + 1]) / pivot[i];
    double norm2 = 0;
    for (const double v : y) norm2 += v * v;
    for (double& v : y) v /= std::sqrt(norm2);
  }
  return std::abs(y[n - 1]);
}

/// Returns the ends of the matrix with these diagonals; off has as many numbers, the last one that of the
/// next step.
SpectrumEnds tridiagonal_ends(const std::vector<double>& diagonal, std::vector<double> off) {
  SpectrumEnds ends;
  const double next = off.back();
  off.pop_back();
  ends.steps = int(diagonal.size());
  ends.smallest = tridiagonal_eigenvalue(diagonal, off, 0);
  ends.largest = tridiagonal_eigenvalue(diagonal, off, ends.steps - 1);
  // A second copy of a Ritz value appears when the first has converged (C. C. Paige, 1971), and would spoil
  // its vector.
  constexpr double copy = 1e-6;
  const bool has_copy = count_below(diagonal, off, ends.smallest * (1 + copy)) > 1;
  ends.smallest_error = has_copy ? copy * ends.smallest : next * last_component(diagonal, off, ends.smallest);
  return ends;
}
}  // namespace

SpectrumEnds lanczos_ends(const LinearOperator& A, const LanczosSteps& steps, const TrajectoryKey& key) {
  TRELLIS_REQUIRE(A.is_hermitian() && steps.least >= 1 && steps.most >= steps.least && steps.accuracy >= 0,
                  "Lanczos with ", steps.least, " to ", steps.most, " steps of ", A.name());
  SpinorField v = A.make_field(), w = SpinorField::like(v), before = SpinorField::like(v);
  fill_normal(v, key, RandomPurpose::eigensolver, 0);
  scale(v, 1 / std::sqrt(norm2(v)), v);
  std::vector<double> diagonal, off;
  int next_look = steps.least;
  for (int k = 1;; ++k) {
    A.apply(w, v);
    diagonal.push_back(dot(v, w).real());
    combine(w, 1.0, w, -diagonal.back(), v);
    if (k > 1) combine(w, 1.0, w, -off.back(), before);
    off.push_back(std::sqrt(norm2(w)));
    if (!std::isfinite(off.back()))
      throw NumericError(message("the spectrum of ", A.name(), ": not finite after ", k, " Lanczos steps"));
    const bool is_closed = off.back() <= 1e-12 * std::abs(diagonal.back());
    if (k == next_look || is_closed) {
      const SpectrumEnds ends = tridiagonal_ends(diagonal, off);
      if (is_closed || steps.accuracy == 0 || ends.smallest_error <= steps.accuracy * ends.smallest)
        return ends;
      if (k == steps.most)
        throw NumericError(message("the lower end of the spectrum of ", A.name(), " is at or below ",
                                   ends.smallest, " +- ", ends.smallest_error, ", which ", k,
                                   " Lanczos steps did not make out: take a heavier quark"));
      next_look = std::min(steps.most, k + std::max(10, k / 8));
    }
    std::swap(before, v);
    scale(v, 1 / off.back(), w);
  }
}

}  // namespace trellis
