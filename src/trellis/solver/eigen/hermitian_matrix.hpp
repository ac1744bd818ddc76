#pragma once
/// Small dense hermitian matrices have all their eigenvalues and eigenvectors by Jacobi rotations. Every rank
/// computes the same numbers from the same ones.
#include <complex>
#include <vector>

namespace trellis {

/// It has n x n numbers, row by row.
struct DenseMatrix {
  int n = 0;
  std::vector<std::complex<double>> values;

  DenseMatrix() = default;
  explicit DenseMatrix(int size) : n{size}, values(size_t(size) * size_t(size)) {}
  std::complex<double>& at(int row, int column) { return values[size_t(row) * size_t(n) + size_t(column)]; }
  const std::complex<double>& at(int row, int column) const {
    return values[size_t(row) * size_t(n) + size_t(column)];
  }
};

struct HermitianEigensystem {
  std::vector<double> values;  ///< they ascend
  DenseMatrix vectors;         ///< column k belongs to values[k]; the columns are orthonormal
};

/// Returns all eigenvalues and eigenvectors of H, whose upper triangle alone is read. Cyclic Jacobi rotations
/// with thresholds find them to the rounding of double. Throws NumericError for NaN or Inf.
HermitianEigensystem diagonalise(DenseMatrix H);

}  // namespace trellis
