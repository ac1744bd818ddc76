#pragma once
/// Functions of 3x3 matrices: determinant.
#include "trellis/algebra/color.hpp"

namespace trellis {

/// det U = sum_j U_0j (U_1 x U_2)_j; 64 flop.
template <class R>
TRELLIS_SITE_FN Complex<R> determinant(const ColorMatrix<R>& U) {
  Complex<R> det;
  for (int j = 0; j < Nc; ++j) {
    const int k = (j + 1) % Nc, l = (j + 2) % Nc;
    Complex<R> minor = U.e[1][k] * U.e[2][l];
    mul_add(minor, -U.e[1][l], U.e[2][k]);
    if (j == 0)
      det = U.e[0][0] * minor;
    else
      mul_add(det, U.e[0][j], minor);
  }
  return det;
}

}  // namespace trellis
