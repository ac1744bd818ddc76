#include "trellis/update/factor_solver.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/even_twist.hpp"
#include "trellis/operator/site_diagonal.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/monomial.hpp"

namespace trellis {

namespace {
/// A solve by both factors makes so many passes for one x: the first, and corrections of what it left.
constexpr int most_passes = 5;
/// A correction that leaves more than this of the residual is the last one.
constexpr double least_progress = 0.5;
/// Each factor may take this part of the tolerance.
constexpr double share = 0.4;
/// This is above the norm of S: so much a residual of S x = y may become in S^dagger S x = b.
constexpr double norm_of_factor = 8;
/// A solve of M in double can be asked for this at best.
constexpr double least_tolerance = 1e-14;
/// A solve of M that ends above so many times its tolerance is stuck; rounding leaves less to correct.
constexpr double rest_of_stuck = 10;
/// Sums of steps are multiples of `refresh` up to rounding.
constexpr double rounding = 1e-6;
}  // namespace

FactorSolver::FactorSolver(const FactorSolverParams& params) : params_{params} {
  TRELLIS_REQUIRE(params.refresh > 0 && std::isfinite(params.refresh),
                  "multigrid is refreshed after a molecular-dynamics time above 0, not ", params.refresh);
  TRELLIS_REQUIRE(params.max_iterations > 0, "multigrid is stuck after at least one iteration, not ",
                  params.max_iterations);
}

void FactorSolver::begin_trajectory(int64_t version) {
  has_given_up_ = false;
  if (multigrid_ && is_new_ && version == version_ && interval_ == 0) return;
  systems_.clear();
  multigrid_.reset();
}

bool FactorSolver::serves(const WilsonParams& params, double shift) const {
  return shift == 0 || (params.twisted_mass == 0 && std::sqrt(shift) <= params_.largest_rho);
}

FactorSolver::System FactorSolver::with_twist(const WilsonMatrixPtr& matrix, double rho) const {
  const auto outer = std::make_shared<WilsonOperator>(matrix);
  const auto inner =
      std::dynamic_pointer_cast<const WilsonOperator>(multigrid_->at(*outer)->fine().pointer());
  WilsonParams twisted = matrix->params();
  twisted.twisted_mass = 0.5 * rho;
  const WilsonOperator nearby(
      std::make_shared<WilsonMatrix>(*matrix->gauge_field(), twisted, matrix->choice()));
  const MultigridPtr preconditioner = multigrid_->at(nearby);
  GcrSpec gcr;
  gcr.restart_length = MultigridSpec{}.restart_length;
  gcr.preconditioner =
      SolverOfOperator{MultigridSpec{.multigrid = preconditioner}, preconditioner->fine().pointer()};
  System made{OperatorCopies(LinearOperatorPtr(std::make_shared<EvenTwist>(outer, rho))),
              MixedPrecisionSpec{gcr, Precision::single_precision}};
  made.M.provide(std::make_shared<EvenTwist>(inner, rho));
  return made;
}

const FactorSolver::System& FactorSolver::system(const WilsonMatrixPtr& matrix, double rho, bool is_dagger) {
  const bool is_negative = is_dagger && (rho != 0 || matrix->params().twisted_mass != 0);
  const auto key = std::make_pair(rho, is_negative);
  const auto found = systems_.find(key);
  if (found != systems_.end()) return found->second;
  if (rho != 0) return systems_.emplace(key, with_twist(matrix, is_negative ? -rho : rho)).first->second;
  WilsonMatrixPtr own = matrix;
  if (is_negative) {
    WilsonParams params = matrix->params();
    params.twisted_mass *= -1;
    own = std::make_shared<WilsonMatrix>(*matrix->gauge_field(), params, matrix->choice());
  }
  const auto op = std::make_shared<WilsonOperator>(own);
  const MultigridPtr multigrid = multigrid_->at(*op);
  System made{OperatorCopies(LinearOperatorPtr(op)), MultigridSpec{.multigrid = multigrid}};
  made.M.provide(multigrid->fine().pointer());
  return systems_.emplace(key, std::move(made)).first->second;
}

void FactorSolver::set_up(const WilsonMatrixPtr& matrix, const FactorSolve& how) {
  is_new_ = true;
  multigrid_ = Multigrid::make(WilsonOperator(matrix), params_.multigrid);
  setup_cost_ += multigrid_->report().cost;
  ++how.count->setups;
}

/// Makes multigrid_ that of the links and the time.
void FactorSolver::follow(const WilsonMatrixPtr& matrix, int64_t version, const FactorSolve& how) {
  const int64_t interval = int64_t(std::floor(how.time / params_.refresh + rounding));
  const bool is_passed = interval != interval_;
  if (multigrid_ && version == version_ && !is_passed) return;
  interval_ = interval;
  version_ = version;
  systems_.clear();
  if (!multigrid_) {
    set_up(matrix, how);
  } else {
    is_new_ = false;
    MultigridSetup setup(*matrix, params_.multigrid);
    multigrid_ = is_passed ? setup.refreshed(*multigrid_, {0, params_.multigrid.vectors})
                           : setup.with_coarse_space_of(*multigrid_);
    how.count->sweeps += is_passed;
    if (is_passed) setup_cost_ += multigrid_->report().cost;
  }
}

bool FactorSolver::solve_factor(const System& system, SpinorField& out, const SpinorField& b, bool is_dagger,
                                double tolerance, SolveReport& report) {
  SpinorField source = system.M->make_field(), solution = SpinorField::like(source);
  insert_parity(source, b);
  const std::complex<double> i_gamma5(0, 1), minus_i_gamma5(0, -1);
  if (is_dagger) multiply_chiral(source, source, minus_i_gamma5);
  SolveLimits limits;
  limits.tolerance = std::max(tolerance, least_tolerance);
  limits.max_iterations = params_.max_iterations;
  limits.fallback = false;
  const SolveReport found = trellis::solve(system.solver.limited(limits), system.M, solution, source);
  if (is_dagger) multiply_chiral(solution, solution, i_gamma5);
  extract_parity(out, solution);
  report.method = found.method;
  report.iterations += found.iterations;
  report.cost += found.cost;
  report.reason = found.reason;
  return found.largest_residual() <= rest_of_stuck * limits.tolerance;
}

SolveReport FactorSolver::solve_normal(const LinearOperator& A, const WilsonMatrixPtr& matrix, SpinorField& x,
                                       const SpinorField& b, const FactorSolve& how) {
  const double rho = std::sqrt(how.shift);
  const System &dagger = system(matrix, rho, true), &plain = system(matrix, rho, false);
  SolveReport report;
  report.reason = StopReason::zero_source;
  report.relative_residual = {0.0};
  set_zero(x);
  SpinorField r = SpinorField::like(b), y = SpinorField::like(b), step = SpinorField::like(b);
  copy(r, b);
  const double norm_b = std::sqrt(norm2(b));
  double norm_r = norm_b, left = how.tolerance * norm_b;
  report.converged = norm_b == 0;
  for (int pass = 0; pass < most_passes && !report.converged; ++pass) {
    if (!solve_factor(dagger, y, r, true, share * left / norm_r, report)) break;
    if (!solve_factor(plain, step, y, false, share * left / (norm_of_factor * std::sqrt(norm2(y))), report))
      break;
    combine(x, 1.0, x, 1.0, step);
    A.apply(r, x);
    combine(r, 1.0, b, -1.0, r);
    const double before = norm_r;
    norm_r = std::sqrt(norm2(r));
    report.relative_residual = {norm_r / norm_b};
    report.converged = norm_r <= left;
    report.cost += A.cost(1);
    if (!(norm_r <= least_progress * before)) break;
  }
  if (report.converged)
    report.reason = norm_b == 0 ? StopReason::zero_source : StopReason::converged;
  else if (report.reason == StopReason::converged)
    report.reason = StopReason::stagnated;
  return report;
}

std::optional<SolveReport> FactorSolver::solve(const LinearOperator& A, const WilsonMatrixPtr& matrix,
                                               int64_t version, SpinorField& x, const SpinorField& b,
                                               const FactorSolve& how) {
  setup_cost_ = Cost{};
  while (!has_given_up_) {
    try {
      follow(matrix, version, how);
      SolveReport report = solve_normal(A, matrix, x, b, how);
      report.cost += setup_cost_;
      if (report.converged) return report;
    } catch (const NumericError&) {  // test vectors depend on each other, or a coarse matrix is singular
    }
    has_given_up_ = is_new_;
    multigrid_.reset();
  }
  ++how.count->fallbacks;
  return {};
}

}  // namespace trellis
