#pragma once
/// Solves that begin with low modes taken out.
#include "trellis/solver/eigen/eigenvectors.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

/// A x = b as DeflatedSpec says, x being the first guess. The report counts the iterations, updates and costs
/// of all stages, those of the deflation too; its residuals are the last stage's.
/// @pre spec.vectors belong to A; 0 <= reduction < 1
SolveReport solve_deflated(const DeflatedSpec& spec, const LinearOperator& A, const LinearOperatorPtr& inner,
                           SpinorField& x, const SpinorField& b);

}  // namespace trellis
