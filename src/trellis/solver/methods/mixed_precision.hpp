#pragma once
/// These solvers iterate in low storage and correct from residuals recomputed in double.
#include "trellis/solver/methods/cg.hpp"

namespace trellis {

/// CG keeps its direction across the corrections (reliable updates, M. A. Clark et al., Comput. Phys. Commun.
/// 181 (2010) 1517); the other methods begin anew (defect correction), and any other solver is run from zero
/// for each correction.
struct MixedPrecisionSpec {
  SolverSpec inner = CgSpec{};
  Precision precision = Precision::single_precision;
  /// The residual is recomputed in double when it has dropped by this factor; 0 chooses by method and
  /// precision. @pre 0 <= update_threshold < 1
  double update_threshold = 0;

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace trellis
