#pragma once
/// Low modes of a coarse operator deflate its solves: where a quark is light and its field nearly
/// exceptional, a coarse solve spends nearly all its iterations on a few of them.
#include <memory>

#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"

namespace trellis {

/// Returns about the `count` lowest eigenvectors of S^dagger S, S being the even-odd system of D_c in its
/// symmetric form: it applies a Chebyshev filter to noise, and then the Rayleigh-Ritz method. A deflated
/// solve minimises its residual over their span, however exact they are. There are fewer where the coarse
/// lattice is small; the result is null where it is too small. Any ranks get the same bits. Collective.
/// @param solved has the matrices with which solves multiply: it gives the images S v
/// @param cost gets what the search took
std::shared_ptr<const Eigenvectors> find_coarse_modes(const CoarseMatrixPtr& coarse,
                                                      const CoarseMatrixPtr& solved, int count, uint64_t seed,
                                                      Cost& cost);

}  // namespace trellis
