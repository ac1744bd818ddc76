#pragma once
/// Many right-hand sides are solved in batches. A batch shares every link load; a small one keeps the fields
/// of the recursion near the core, which is worth more than sharing links among all of them.
#include <functional>

#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/solve_report.hpp"

namespace trellis {

/// Returns how many right-hand sides to solve together with an operator, which is given in the storage in
/// which a solver iterates: as many as keep links and fields within a nominal cache of 2.5 MB, at least one;
/// four where even one takes more than 100 MB, as the links then come from memory. It depends on the whole
/// lattice and not on ranks or the machine: CG in mixed precision recomputes the residuals of all its columns
/// when one of them asks for it, so its last bits depend on the batch.
int columns_per_batch(const LinearOperator& A);

/// Calls solve(x, b) for batches of at most `size` right-hand sides, and once where they fit (or lie on a
/// GPU). The report holds the residuals of all of them and the worst reason.
SolveReport solve_in_batches(int size, SpinorField& x, const SpinorField& b,
                             const std::function<SolveReport(SpinorField&, const SpinorField&)>& solve);

}  // namespace trellis
