#pragma once
/// Dense complex matrices have real and imaginary parts apart, in double: products and inverses of matrices
/// of some hundred rows are loops that compilers turn into vector instructions. One thread runs.
#include <cstddef>
#include <vector>

namespace trellis {

/// It is n x n, row by row.
struct SplitMatrix {
  int n = 0;
  std::vector<double> re, im;

  SplitMatrix() = default;
  explicit SplitMatrix(int size)
      : n{size}, re(size_t(size) * size_t(size)), im(size_t(size) * size_t(size)) {}
  double* re_row(int i) { return re.data() + size_t(i) * size_t(n); }
  double* im_row(int i) { return im.data() + size_t(i) * size_t(n); }
  const double* re_row(int i) const { return re.data() + size_t(i) * size_t(n); }
  const double* im_row(int i) const { return im.data() + size_t(i) * size_t(n); }
};

/// Returns a matrix of a coarse field: reals are [column][row][re, im].
SplitMatrix split_matrix(const std::vector<double>& reals);
/// Returns g5 M^dagger g5 with g5 = +1, -1 on the two halves of the rows.
SplitMatrix g5_adjoint(const SplitMatrix& M);
/// Computes out += factor a b. @pre all have the same size, and out is another matrix
void add_product(SplitMatrix& out, double factor, const SplitMatrix& a, const SplitMatrix& b);
/// Adds a matrix to a block of a larger one, or of its own size.
void add_block(SplitMatrix& out, const SplitMatrix& block, int first_row, int first_column);

/// It has A^-1 by Gauss-Jordan elimination with row pivots, and the largest |element| of both multiplied,
/// which estimates the condition, and is infinite where A is singular.
struct SplitInverse {
  SplitMatrix inverse;
  double condition = 0;
};
SplitInverse inverse_of(SplitMatrix A);

/// Writes [column][row][re, im].
template <class Scalar>
void write_by_columns(const SplitMatrix& M, Scalar* out) {
  for (int row = 0; row < M.n; ++row)
    for (int column = 0; column < M.n; ++column) {
      Scalar* p = out + 2 * (size_t(column) * size_t(M.n) + size_t(row));
      p[0] = Scalar(M.re_row(row)[column]);
      p[1] = Scalar(M.im_row(row)[column]);
    }
}

}  // namespace trellis
