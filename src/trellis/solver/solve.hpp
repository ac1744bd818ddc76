#pragma once
/// All solvers have this one entry.
#include <vector>

#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/operator_copies.hpp"
#include "trellis/solver/solve_report.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// Solves A x = b as the spec says, x being the first guess and b having any number of right-hand sides. CG
/// takes the normal equations where A is not hermitian; the report names what was done. Not converging is no
/// error. Many right-hand sides are solved in batches (batches.hpp). Collective.
///
/// A is an operator, or an OperatorCopies where many solves share its copies in other storages.
/// @pre A is in double, x and b alike and of A's domain; see residual_correction.hpp. NumericError: NaN or
/// Inf in x, b.
SolveReport solve(const SolverSpec& spec, const OperatorCopies& A, SpinorField& x, const SpinorField& b);

/// Returns |b - A x| / |b| of each right-hand side, in A's storage: 0 where both norms are 0, infinity where
/// only b is 0.
/// @param cost what this costs is added to it
std::vector<double> relative_residual(const LinearOperator& A, const SpinorField& x, const SpinorField& b,
                                      SolveCost* cost = nullptr);

}  // namespace trellis
