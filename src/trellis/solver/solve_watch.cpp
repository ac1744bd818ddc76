#include "trellis/solver/solve_watch.hpp"

#include <atomic>

namespace trellis {

namespace {
std::atomic<long> latest_iterations{0};
std::atomic<double> latest_residual{0};
}  // namespace

void tell_iteration(long iterations, double residual) noexcept {
  latest_residual.store(residual, std::memory_order_relaxed);
  latest_iterations.store(iterations, std::memory_order_relaxed);
}

SolveMoment look_at_solve() noexcept {
  return {latest_iterations.load(std::memory_order_relaxed), latest_residual.load(std::memory_order_relaxed)};
}

void forget_solve() noexcept { tell_iteration(0, 0); }

}  // namespace trellis
