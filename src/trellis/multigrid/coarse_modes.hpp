#pragma once
/// Low modes of a coarse operator: where a quark is light and its field nearly exceptional, a coarse solve
/// spends nearly all its iterations on a few of them.
#include <memory>

#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"

namespace trellis {

/// About the `count` lowest eigenvectors of S^dagger S, S the even-odd system of D_c in its symmetric form:
/// a Chebyshev filter of noise, then the Rayleigh-Ritz method. A deflated solve minimises its residual over
/// their span, however exact they are. Fewer where the coarse lattice is small; null where it is too small.
/// The same bits on any ranks. Collective.
/// @param solved with whose matrices solves multiply: it gives the images S v
/// @param cost gets what the search took
std::shared_ptr<const Eigenvectors> find_coarse_modes(const CoarseMatrixPtr& coarse,
                                                      const CoarseMatrixPtr& solved, int count, uint64_t seed,
                                                      Cost& cost);

}  // namespace trellis
