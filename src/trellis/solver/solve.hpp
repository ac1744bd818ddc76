#pragma once
/// One entry for all solvers.
#include <optional>

#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/solve_report.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

/// Solves A x = b as the spec says, x being the first guess and b having any number of right-hand sides. CG
/// takes the normal equations where A is not hermitian; the report names what was done. Not converging is no
/// error. Many right-hand sides are solved in batches (batches.hpp).
///
/// `inner` is A in the storage of a mixed-precision spec: pass it (A.converted(precision)) where many solves
/// share it; null converts A for this solve.
/// @pre A is in double, x and b alike and of A's domain; see residual_correction.hpp. NumericError: NaN or
/// Inf in x, b.
SolveReport solve(const SolverSpec& spec, const LinearOperator& A, SpinorField& x, const SpinorField& b,
                  const LinearOperatorPtr& inner = nullptr);

/// |b - A x| / |b| that a spec asks for.
double tolerance_of(const SolverSpec& spec);
SolverSpec with_tolerance(SolverSpec spec, double tolerance);
/// The same solver, which records SolveReport::history.
SolverSpec with_history(SolverSpec spec);

/// The storage of the inner operator that solve() takes, where the spec has one.
std::optional<Precision> inner_precision(const SolverSpec& spec);

/// Mixed precision alone (solver_spec.hpp). CG: reliable updates; others: defect correction.
SolveReport solve_mixed_precision(const MixedPrecisionSpec& spec, const LinearOperator& A,
                                  const LinearOperatorPtr& inner, SpinorField& x, const SpinorField& b);

/// |b - A x| / |b| of each right-hand side, in A's storage; 0 where both norms are 0, infinity where only b
/// is 0.
std::vector<double> relative_residual(const LinearOperator& A, const SpinorField& x, const SpinorField& b);

}  // namespace trellis
