#pragma once
/// Multigrid has dense complex matrices: the sites of coarse operators, blocks, and whole coarse operators.
#include <vector>

#include "trellis/algebra/complex.hpp"

namespace trellis::reference {

/// Its rows lie one after the other.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<Complex<double>> entries;

  Matrix() = default;
  Matrix(int rows, int columns);  ///< it makes zeros
  Complex<double>& operator()(int row, int column) { return entries[index(row, column)]; }
  const Complex<double>& operator()(int row, int column) const { return entries[index(row, column)]; }

 private:
  size_t index(int row, int column) const { return size_t(row) * size_t(columns) + size_t(column); }
};

/// Computes out += A in.
void multiply_add(Complex<double>* out, const Matrix& A, const Complex<double>* in);
/// Returns the sum of |A_ij|^2.
double norm2(const Matrix& A);

/// It factors P A = L U with partial pivots.
class LU {
 public:
  /// @pre A is square. Throws NumericError for a singular matrix.
  explicit LU(Matrix A);

  std::vector<Complex<double>> solve(const std::vector<Complex<double>>& b) const;
  Matrix inverse() const;
  double log_abs_determinant() const;

 private:
  Matrix factors_;         // L lies below the diagonal, U on it and above
  std::vector<int> rows_;  // row i of the factors is row rows_[i] of A
};

}  // namespace trellis::reference
