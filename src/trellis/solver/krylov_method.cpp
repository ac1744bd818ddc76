#include "trellis/solver/krylov_method.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/solver/solve_watch.hpp"

namespace trellis {

namespace {
/// A residual that grew by 10^10 does not come back.
constexpr double hopeless_growth2 = 1e20;
}  // namespace

void SolveCost::add_applications(const LinearOperator& A, int columns, int count) {
  *this += count * A.cost(columns);
}

void SolveCost::add_dagger_applications(const LinearOperator& A, int columns, int count) {
  *this += count * A.dagger_cost(columns);
}

void SolveCost::add_linear_algebra(const SpinorField& f, double fields, double flops_per_real, int launches,
                                   int sums) {
  *this += cost_of_passes(f.lattice(), f.spec(), fields, flops_per_real, launches, sums);
}

void KeptColumns::keep(SpinorField& x, SolveCost& cost) {
  FieldSpec spec = x.spec();
  spec.rhs = int(waiting_.size());
  kept_.emplace(x.lattice_ptr(), spec);
  for (size_t k = 0; k < waiting_.size(); ++k) copy_columns(*kept_, int(k), x, waiting_[k], 1);
  x_ = &x;
  cost.add_linear_algebra(*kept_, 4, 0, 0, 0);  // both are read and written, there and back
}

KeptColumns::~KeptColumns() {
  for (size_t k = 0; x_ && k < waiting_.size(); ++k) copy_columns(*x_, waiting_[k], *kept_, int(k), 1);
}

void SolveCost::add_norms(const SpinorField& f, const Coefficients& norms) {
  const int passes = std::find(norms.begin(), norms.end(), 0.0) == norms.end() ? 1 : 2;
  add_linear_algebra(f, passes, 2 * passes, passes, passes);
}

SolveProgress::SolveProgress(int rhs, int max_iterations, bool records_history, double tolerance,
                             const StagnationRule& rule)
    : columns(size_t(rhs)),
      max_iterations_{max_iterations},
      records_history_{records_history},
      tolerance_{tolerance},
      rule_{rule} {}

bool SolveProgress::any_active() const {
  return std::any_of(columns.begin(), columns.end(), [](const SolveColumn& c) { return c.is_active; });
}

void SolveProgress::fail(int column, StopReason reason) {
  SolveColumn& c = columns[size_t(column)];
  c.is_active = false;
  c.failed = true;
  c.failure = reason;
}

void SolveProgress::fail_all_not_finite(const SpinorField* step) {
  StopReason reason = StopReason::not_finite;
  if (step)
    for (const double norm : norm_each(*step))
      if (!std::isfinite(norm)) reason = StopReason::preconditioner_not_finite;
  for (int i = 0; i < rhs(); ++i)
    if (columns[size_t(i)].is_active) fail(i, reason);
}

void SolveProgress::record(const Coefficients& residual2) {
  stop_point();  // |r|^2 has just been summed over all ranks
  for (int i = 0; i < rhs(); ++i)
    if (columns[size_t(i)].is_active && !std::isfinite(residual2[size_t(i)])) return fail_all_not_finite();
  double largest2 = 0;
  for (int i = 0; i < rhs(); ++i) {
    SolveColumn& c = columns[size_t(i)];
    if (c.is_active) {
      ++c.iterations;
      c.residual2 = residual2[size_t(i)];
      c.largest2 = std::max(c.largest2, c.residual2);
      if (c.residual2 > hopeless_growth2 * c.start2)
        fail(i, StopReason::broke_down);
      else if (c.residual2 <= c.target2 || c.iterations >= max_iterations_)
        c.is_active = false;
      c.record.add(c.unit2 * c.residual2);
      if (c.is_active && c.record.is_stuck(rule_, tolerance_, max_iterations_)) {
        fail(i, StopReason::stagnated);
        c.is_stuck = true;
      }
    }
    largest2 = std::max(largest2, c.unit2 * c.residual2);
  }
  if (!records_history_) return;
  history.push_back(std::sqrt(largest2));
  tell_iteration(long(history.size()), history.back());
}

bool SolveProgress::wants_reliable_update() const {
  return std::any_of(columns.begin(), columns.end(), [&](const SolveColumn& c) {
    return c.is_active && c.residual2 <= update_threshold * update_threshold * c.largest2;
  });
}

Coefficients SolveProgress::active_mask() const {
  Coefficients mask;
  for (const SolveColumn& c : columns) mask.push_back(c.is_active ? 1.0 : 0.0);
  return mask;
}

}  // namespace trellis
