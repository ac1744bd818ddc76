#pragma once
/// A block Lanczos with thick restarts and a Chebyshev filter finds the low modes of A^dagger A.
#include <cstdint>

#include "trellis/base/precision.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"

namespace trellis {

struct LanczosSpec {
  int count = 16;           ///< so many eigenvectors are wanted
  int block = 4;            ///< so many right-hand sides share an application of A
  int basis = 0;            ///< the basis has at most so many vectors; 0 stands for 2 count + 4 block
  double tolerance = 1e-8;  ///< this bounds |A^dagger A v - lambda v| / upper end of the spectrum
  int max_restarts = 100;
  int degree = 0;     ///< the filter has this degree; 0 chooses it from cutoff and upper
  double cutoff = 0;  ///< the filter damps what lies above; 0 finds it from the modes themselves
  double upper = 0;   ///< this bounds the spectrum; 0 estimates it
  Precision storage = Precision::single_precision;  ///< the vectors are kept in this storage
  uint64_t seed = 1;                                ///< the first block is drawn from this seed
  const Eigenvectors* start = nullptr;  ///< they belong to a similar operator: the search begins with
                                        ///< mixtures of them
};

/// Returns the `count` lowest eigenvectors of A^dagger A (K. Wu, H. Simon, SIAM J. Matrix Anal. Appl. 22
/// (2000) 602 for the restart). Everything is computed in A's storage, with full reorthogonalisation. A
/// search that does not converge is no error: the result says so. Every process grid gets the same bits.
/// Collective.
/// @pre A is in double; 1 <= count, block; basis >= count + 2 block, and is at most half the dimension of A
Eigenvectors lanczos(const LinearOperatorPtr& A, const LanczosSpec& spec);

}  // namespace trellis
