#include "trellis/solver/solve_report.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::zero_source:
      return "zero source";
    case StopReason::fixed_iterations:
      return "fixed number of iterations";
    case StopReason::max_iterations:
      return "iterations ran out";
    case StopReason::stagnated:
      return "stagnated";
    case StopReason::full_system_stagnated:
      return "converged on the Schur complement, but M x = b stagnated";
    case StopReason::broke_down:
      return "broke down";
    case StopReason::not_finite:
      return "not finite";
    case StopReason::preconditioner_not_finite:
      return "the preconditioner returned NaN or Inf";
  }
  throw BadArgument(message("no stop reason has the number ", int(reason)));
}

double SolveReport::largest_residual() const {
  double largest = 0;
  for (const double r : relative_residual)
    if (!(r <= largest)) largest = r;
  return largest;
}

void SolveReport::continues(const SolveReport& before) {
  iterations += before.iterations;
  reliable_updates += before.reliable_updates;
  restarts += before.restarts + 1;
  seconds += before.seconds;
  cost += before.cost;
  history.insert(history.begin(), before.history.begin(), before.history.end());
  stages.insert(stages.begin(), before.stages.begin(), before.stages.end());
}

void SolveReport::add(const SolveReport& next) {
  const SolveReport before = std::move(*this);
  *this = next;
  continues(before);
  restarts = before.restarts + next.restarts;
  converged = before.converged && next.converged;
  reason = std::max(before.reason, next.reason);
}

namespace {
/// Forms the largest residual after each iteration; a batch that is done keeps its last.
void merge_histories(std::vector<double>& all, const std::vector<double>& one) {
  if (one.empty()) return;
  const double last = all.empty() ? 0.0 : all.back();
  if (all.size() < one.size()) all.resize(one.size(), last);
  for (size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], one[std::min(i, one.size() - 1)]);
}
}  // namespace

void SolveReport::add_columns(const SolveReport& others) {
  // A zero column is not the reason of several.
  const bool is_zero = reason == StopReason::zero_source,
             others_are_zero = others.reason == StopReason::zero_source;
  reason = is_zero ? others.reason : others_are_zero ? reason : std::max(reason, others.reason);
  converged = converged && others.converged;
  iterations = std::max(iterations, others.iterations);
  relative_residual.insert(relative_residual.end(), others.relative_residual.begin(),
                           others.relative_residual.end());
  reliable_updates = std::max(reliable_updates, others.reliable_updates);
  restarts += others.restarts;
  seconds += others.seconds;
  cost += others.cost;
  merge_histories(history, others.history);
  stages.insert(stages.end(), others.stages.begin(), others.stages.end());
}

std::string SolveReport::summary() const {
  std::ostringstream text;
  text.precision(3);
  text << method << ": " << name_of(reason) << " after " << iterations
       << " iterations, true relative residual " << largest_residual() << ", " << relative_residual.size()
       << " right-hand sides, " << seconds << " s, " << gflops() << " GF/s, " << gbytes_per_second()
       << " GB/s";
  return text.str();
}

}  // namespace trellis
