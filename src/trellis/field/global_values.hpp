#pragma once
/// The exact sums of one rank become numbers here.
#include <vector>

#include "trellis/base/exact_sum.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

/// Returns the global sums of right-hand sides from this rank's sums of the slots of a field like x.
Coefficients global_values(const SpinorField& x, const std::vector<ExactSum>& slots);

}  // namespace trellis
