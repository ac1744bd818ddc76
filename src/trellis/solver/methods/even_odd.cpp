#include "trellis/solver/methods/even_odd.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_methods.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

constexpr int most_corrections = 3;
/// A solve of S in double can be asked for this at best; a correction does the rest.
constexpr double least_tolerance = 1e-13;
/// A correction that leaves more than this of a column's residual is its last one.
constexpr double least_progress = 0.5;
/// A correction aims at this part of the tolerance.
constexpr double correction_share = 0.5;

double largest(const std::vector<double>& residuals) {
  double worst = 0;
  for (const double r : residuals)
    if (!(r <= worst)) worst = r;  // NaN counts, too
  return worst;
}

class EvenOddSolve {
 public:
  EvenOddSolve(const SolverSpec& spec, const OperatorCopies& M, SchurForm form, const SpinorField& b)
      : spec_{spec}, M_{*M}, system_{M.schur(form)}, S_{system_.as_schur()}, b_{b} {}

  SolveReport run(SpinorField& x);

 private:
  SolveReport solve_and_correct(SpinorField& x);
  SolveReport solve_through_schur(SpinorField& x, const SpinorField& b, SpinorField& solution,
                                  const std::vector<double>& tolerance);
  void correct(SpinorField& x, SolveReport& report, std::vector<bool>& goes_on);

  const SolverSpec& spec_;
  const LinearOperator& M_;
  const OperatorCopies& system_;
  const SchurOperator& S_;
  const SpinorField& b_;
  SolveCost cost_;  ///< it counts all but the solves of S
};

/// Solves M x = b from the guess `solution` of S, so that |b - M x| <= tolerance |b| is to be expected.
SolveReport EvenOddSolve::solve_through_schur(SpinorField& x, const SpinorField& b, SpinorField& solution,
                                              const std::vector<double>& tolerance) {
  SpinorField source = S_.make_field(b.rhs());
  S_.prepare_source(source, b);
  {
    SpinorField nothing = S_.make_field(b.rhs());
    S_.reconstruct(x, nothing, b);
  }
  cost_ += S_.source_cost(b.rhs()) + 2 * S_.reconstruction_cost(b.rhs());
  std::vector<double> wanted = relative_residual(M_, x, b, &cost_);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double ratio = std::isfinite(wanted[i]) ? std::max(1.0, wanted[i]) : 1.0;
    wanted[i] = std::max(tolerance[i] / ratio, least_tolerance);
  }
  SolveLimits limits = spec_.limits();
  limits.tightened = wanted;
  for (double& t : limits.tightened) t /= limits.tolerance;
  SolveReport report = solve(spec_.limited(limits), system_, solution, source);
  S_.reconstruct(x, solution, b);
  return report;
}

/// Adds dx with M dx = b - M x for the columns that go on; a column that gains too little goes on no more.
void EvenOddSolve::correct(SpinorField& x, SolveReport& report, std::vector<bool>& goes_on) {
  const double tolerance = spec_.limits().tolerance;
  const size_t columns = size_t(b_.rhs());
  Coefficients takes(columns, 0.0), minus(columns, 0.0);
  std::vector<double> wanted(columns, correction_share);  // the others have this, since their source is 0
  double begin = 0;                                       // it is the largest residual of columns that go on
  for (size_t i = 0; i < columns; ++i) {
    if (!goes_on[i]) continue;
    begin = std::max(begin, report.relative_residual[i]);
    takes[i] = 1;
    minus[i] = -1;
    wanted[i] = correction_share * tolerance / report.relative_residual[i];
  }
  const std::vector<double> before = report.relative_residual;
  SpinorField residual = SpinorField::like(b_), correction = SpinorField::like(b_);
  M_.apply(residual, x);
  combine(residual, takes, b_, minus, residual);
  SpinorField solution = S_.make_field(b_.rhs());
  SolveReport solve = solve_through_schur(correction, residual, solution, wanted);
  {
    SpinorField image = SpinorField::like(b_);
    M_.apply(image, correction);
    const Coefficients size = norm_each(residual);
    const Coefficients left2 = combine_norm2(image, takes, residual, minus, image);
    cost_.add_norms(b_, size);
    cost_.add_linear_algebra(b_, 3, 5, 1, 1);
    for (size_t i = 0; i < columns; ++i)  // a correction that makes a column worse is not taken
      if (!(std::sqrt(left2[i]) < size[i])) takes[i] = 0;
  }
  combine(x, Coefficients(columns, 1.0), x, takes, correction);
  cost_.add_applications(M_, b_.rhs(), 2);
  cost_.add_linear_algebra(b_, 6, 6, 2, 0);
  for (double& r : solve.history) r *= begin;  // its source is what the solve before left
  solve.continues(report);
  report = std::move(solve);
  report.relative_residual = relative_residual(M_, x, b_, &cost_);
  for (size_t i = 0; i < columns; ++i)
    goes_on[i] = goes_on[i] && report.relative_residual[i] > tolerance &&
                 report.relative_residual[i] <= least_progress * before[i];
}

SolveReport EvenOddSolve::run(SpinorField& x) {
  const Stopwatch watch;
  SolveReport report = solve_and_correct(x);
  report.cost += cost_;
  report.seconds = watch.seconds();
  return report;
}

SolveReport EvenOddSolve::solve_and_correct(SpinorField& x) {
  const SolveLimits limits = spec_.limits();
  SpinorField solution = S_.make_field(b_.rhs());
  S_.prepare_guess(solution, x);
  cost_ += S_.guess_cost(b_.rhs());
  SolveReport report =
      solve_through_schur(x, b_, solution, std::vector<double>(size_t(b_.rhs()), limits.tolerance));
  report.relative_residual = relative_residual(M_, x, b_, &cost_);
  if (limits.iterations > 0) return report;  // this solve has no tolerance
  std::vector<bool> goes_on;
  for (const double r : report.relative_residual) goes_on.push_back(std::isfinite(r) && r > limits.tolerance);
  for (int i = 0; i < most_corrections; ++i) {
    const bool ended_at_its_limit = report.converged || report.reason == StopReason::stagnated;
    if (!ended_at_its_limit || std::none_of(goes_on.begin(), goes_on.end(), [](bool g) { return g; })) break;
    correct(x, report, goes_on);
  }
  if (largest(report.relative_residual) <= limits.tolerance) {
    if (report.reason != StopReason::zero_source) report.reason = StopReason::converged;
    report.converged = true;
  } else {
    if (report.converged) report.reason = StopReason::full_system_stagnated;
    report.converged = false;
  }
  return report;
}

/// It computes K r = x with M x ~ r; the solver inside solves S.
class EvenOddInverse final : public ApproximateInverse {
 public:
  EvenOddInverse(const SolverSpec& solver, const OperatorCopies& system, int columns)
      : S_{system.as_schur()},
        K_{solver->inside(system, columns)},
        source_{S_.make_field(columns)},
        solution_{SpinorField::like(source_)} {}

  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    S_.prepare_source(source_, r);
    K_->apply(solution_, source_, cost);
    S_.reconstruct(z, solution_, r);
    cost += S_.source_cost(r.rhs()) + S_.reconstruction_cost(r.rhs());
  }

 private:
  const SchurOperator& S_;
  std::unique_ptr<ApproximateInverse> K_;
  SpinorField source_, solution_;
};

class EvenOddRecipe final : public SolverRecipe {
 public:
  explicit EvenOddRecipe(EvenOddSpec spec) : spec_{std::move(spec)} {}

  const EvenOddSpec& spec() const { return spec_; }
  std::string name(const LinearOperator& A) const override {
    const auto S = A.schur(spec_.form);
    return S ? message(S->form_in_words(), " ", spec_.solver->name(*S)) : spec_.solver->name(A);
  }
  SolveLimits limits() const override { return spec_.solver.limits(); }
  SolverSpec limited(const SolveLimits& limits) const override {
    return EvenOddSpec{spec_.solver.limited(limits), spec_.form};
  }
  std::optional<Precision> storage() const override { return spec_.solver->storage(); }
  bool takes_batches() const override { return false; }  // the solves of S do
  SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const override {
    SolveReport report = EvenOddSolve(spec_.solver, A, spec_.form, b).run(x);
    const std::string form = A.schur(spec_.form).as_schur().form_in_words();
    report.method = message(form, " ", report.method);
    for (SolveStage& stage : report.stages) stage.method = message(form, " ", stage.method);
    return report;
  }
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override {
    return std::make_unique<EvenOddInverse>(spec_.solver, A.schur(spec_.form), columns);
  }

 private:
  EvenOddSpec spec_;
};

}  // namespace

EvenOddSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<EvenOddRecipe>(*this)); }

std::optional<EvenOddSpec> even_odd_system(const SolverSpec& solver) {
  const auto* recipe = dynamic_cast<const EvenOddRecipe*>(&*solver);
  if (!recipe) return std::nullopt;
  return recipe->spec();
}

extern const SolverMethod even_odd_method{"even_odd", [](const SolverParameters& p) -> SolverSpec {
                                            EvenOddSpec spec{p.solver("solver")};
                                            p.take("form", spec.form);
                                            return spec;
                                          }};

}  // namespace trellis
