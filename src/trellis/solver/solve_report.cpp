#include "trellis/solver/solve_report.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::zero_source:
      return "zero source";
    case StopReason::max_iterations:
      return "iterations ran out";
    case StopReason::stagnated:
      return "stagnated";
    case StopReason::broke_down:
      return "broke down";
    case StopReason::not_finite:
      return "not finite";
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
  flops += before.flops;
  conventional_flops += before.conventional_flops;
  bytes += before.bytes;
  history.insert(history.begin(), before.history.begin(), before.history.end());
}

void SolveReport::add(const SolveReport& next) {
  const SolveReport before = std::move(*this);
  *this = next;
  continues(before);
  restarts = before.restarts + next.restarts;
  converged = before.converged && next.converged;
  reason = std::max(before.reason, next.reason);
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
