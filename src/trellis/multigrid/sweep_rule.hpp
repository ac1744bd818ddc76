#pragma once
/// Multigrid chooses by counted work: when a set-up stops to sweep, and what set-ups and solves take before
/// they are made. No clock decides, so that a run file has the same bits on any machine.
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/multigrid/prolongator.hpp"

namespace trellis {

/// Returns the seconds of this work on a core of fixed speeds: `flops` and `bytes` a second. Only ratios are
/// used.
double price_of(const Cost& cost);

/// A solve starts with a residual of 1 and ends at 1e-10, which takes so many digits.
inline constexpr double digits_of_a_solve = 10;
/// A rule never sweeps more often.
inline constexpr int most_sweeps = 10;

/// Measures the convergence of GCR with a cycle, for one column. Its source is one cycle on noise, and so
/// rich in low modes as the residuals are that a solve has most of its iterations for.
/// @param sweeps is the number that the set-up has made
MultigridTrial try_cycle(const OperatorCopies& fine, std::unique_ptr<ApproximateInverse> K, int sweeps,
                         uint64_t seed, SolveCost& cost);

/// Returns true where the next sweep pays for so many solves. A sweep is expected to save half of the
/// iterations that the last one saved, and the first one a quarter of all.
/// @param price_of_sweep is as price_of() has it
bool sweep_pays(const std::vector<MultigridTrial>& trials, double price_of_sweep, int sources);

/// Makes the first iterations of a solve by another method, on noise; the report has its history.
SolveReport try_solver(const SolverSpec& solver, const LinearOperator& M, int iterations, uint64_t seed);

/// Counts the work to make columns orthonormal, and to form D_c = P^dagger D P.
Cost cost_of_projection(const Lattice& fine, const LinearOperator& M, int vectors);
/// Returns their price: these products run at little more than half the speed of solves.
double price_of_projection(const Lattice& fine, const LinearOperator& M, int vectors);

}  // namespace trellis
