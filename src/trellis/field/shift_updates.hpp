#pragma once
/// Multi-shift solvers have these fused updates.
#include <vector>

#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// One shift has these coefficients in one iteration: x += a p, then p = r + b p, for each right-hand side.
struct ShiftStep {
  std::vector<double> a, b;
};
/// Does for all k the steps of one to four iterations, steps[k][t] with the residual residuals[t], in one
/// pass (kernels/linalg/multi_shift_update.hpp). @pre fields alike, in double or single, not on a GPU
void update_shifts(const std::vector<SpinorField*>& x, const std::vector<SpinorField*>& p,
                   const std::vector<const SpinorField*>& residuals,
                   const std::vector<std::vector<ShiftStep>>& steps);

}  // namespace trellis
