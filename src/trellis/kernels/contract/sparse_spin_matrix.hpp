#pragma once
/// Kernels take products of gamma matrices in this form.
#include "trellis/algebra/gamma.hpp"

namespace trellis {

/// It is a spin matrix with one entry per row: entry (row, column[row]) = phase.
struct SparseSpinMatrix {
  int column[4] = {0, 1, 2, 3};
  double re[4] = {1, 1, 1, 1}, im[4] = {0, 0, 0, 0};
};

inline SparseSpinMatrix to_sparse(const GammaMatrix& gamma) {
  SparseSpinMatrix m;
  for (size_t row = 0; row < 4; ++row) {
    m.column[row] = gamma.column[row];
    m.re[row] = gamma.phase[row].real();
    m.im[row] = gamma.phase[row].imag();
  }
  return m;
}

}  // namespace trellis
