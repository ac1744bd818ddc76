#pragma once
/// M x = b through a Schur complement S on half the sites, to a residual of M x = b itself: the one path of
/// all quarks.
///
/// |b - M x| is not the residual of S: the diagonal blocks stand between them (for staggered quarks a factor
/// 1/m). How far the two differ for the source, whose residual x = 0 on S leaves whole, is what S is solved
/// more accurately by from the start. Where that is not enough, the residual b - M x becomes the source of a
/// correction: so the error of rounding is one of M, and not of the worse conditioned S.
#include "trellis/field/schur_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {

/// x is the first guess. `inner`: S in the storage of a mixed-precision spec, as for solve(). The report
/// counts all that was done; its residuals are |b - M x| / |b|, and it has converged where all of them are
/// within the tolerance. Collective.
/// @pre x and b are full, in double and alike
SolveReport solve_even_odd(const SolverSpec& spec, const SchurOperator& S, SpinorField& x,
                           const SpinorField& b, const LinearOperatorPtr& inner = nullptr);

}  // namespace trellis
