#pragma once
/// These solves begin with low modes taken out.
#include "trellis/solver/eigen/eigenvectors.hpp"
#include "trellis/solver/methods/cg.hpp"

namespace trellis {

/// It is another solver, started from x += V lambda^-1 V^dagger A^dagger (b - A x) with low modes V of
/// A^dagger A. What the solver then adds has those modes again, as far as V is inexact: the residual is
/// deflated anew each time that it has dropped by `reduction`. Around an even-odd solver the modes are those
/// of the even-odd system.
/// @pre vectors is not null; 0 <= reduction < 1
struct DeflatedSpec {
  SolverSpec solver = CgSpec{};
  std::shared_ptr<const Eigenvectors> vectors;
  double reduction = 0;  ///< 0 chooses by the storage of the vectors: 1e-4, in 16 bits 1e-3

  operator SolverSpec() const;  // NOLINT(google-explicit-constructor)
};

}  // namespace trellis
