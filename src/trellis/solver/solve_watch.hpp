#pragma once
/// Other threads see here how far the solve under way is: those that show it to a person.
///
/// Only solves that record their history (SolverSpec::with_history) tell it: they are the outermost ones.
namespace trellis {

/// It is one look at a solve: both numbers are 0 before its first iteration.
struct SolveMoment {
  long iterations = 0;
  double residual = 0;  ///< it is the largest |r| / |b| of the recursion
};

/// Tells the iterations; the solve's own thread calls it.
void tell_iteration(long iterations, double residual) noexcept;
/// Returns the state for any thread. The two numbers may be those of neighbouring iterations.
SolveMoment look_at_solve() noexcept;
/// Begins a new solve.
void forget_solve() noexcept;

}  // namespace trellis
