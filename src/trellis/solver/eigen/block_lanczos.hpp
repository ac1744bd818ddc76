#pragma once
/// A block Lanczos with thick restarts and a Chebyshev filter finds the low modes of A^dagger A.
#include <cstdint>

#include "trellis/base/precision.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"

namespace trellis {

struct LanczosSpec {
  int count = 16;           ///< eigenvectors wanted
  int block = 4;            ///< right-hand sides that an application of A shares
  int basis = 0;            ///< largest number of basis vectors; 0: 2 count + 4 block
  double tolerance = 1e-8;  ///< |A^dagger A v - lambda v| / upper end of the spectrum
  int max_restarts = 100;
  int degree = 0;     ///< of the filter; 0: from cutoff and upper
  double cutoff = 0;  ///< the filter damps what lies above; 0: found from the modes themselves
  double upper = 0;   ///< bound of the spectrum; 0: estimated
  Precision storage = Precision::single_precision;  ///< in which the vectors are kept
  uint64_t seed = 1;                                ///< of the first block
  const Eigenvectors* start = nullptr;  ///< of a similar operator: the search begins with mixtures of them
};

/// The `count` lowest eigenvectors of A^dagger A (K. Wu, H. Simon, SIAM J. Matrix Anal. Appl. 22 (2000) 602
/// for the restart). Everything is computed in A's storage, with full reorthogonalisation. Not converging is
/// no error: it is in the result. The same bits on every process grid. Collective.
/// @pre A in double; 1 <= count, block; basis >= count + 2 block, at most half the dimension of A
Eigenvectors lanczos(const LinearOperatorPtr& A, const LanczosSpec& spec);

}  // namespace trellis
