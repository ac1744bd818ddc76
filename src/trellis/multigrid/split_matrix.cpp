#include "trellis/multigrid/split_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trellis {

namespace {

/// Computes row += (re + i im) other.
void add_multiple(double* row_re, double* row_im, double re, double im, const double* other_re,
                  const double* other_im, int n) {
  for (int j = 0; j < n; ++j) {
    row_re[j] += re * other_re[j] - im * other_im[j];
    row_im[j] += re * other_im[j] + im * other_re[j];
  }
}

double largest_element2(const SplitMatrix& A) {
  double worst = 0;
  for (size_t i = 0; i < A.re.size(); ++i) {
    const double size2 = A.re[i] * A.re[i] + A.im[i] * A.im[i];
    if (!(size2 <= worst)) worst = size2;  // NaN counts, too
  }
  return worst;
}

void swap_rows(SplitMatrix& A, int i, int j) {
  std::swap_ranges(A.re_row(i), A.re_row(i) + A.n, A.re_row(j));
  std::swap_ranges(A.im_row(i), A.im_row(i) + A.n, A.im_row(j));
}

}  // namespace

SplitMatrix split_matrix(const std::vector<double>& reals) {
  SplitMatrix M(int(std::lround(std::sqrt(double(reals.size()) / 2))));
  for (int column = 0; column < M.n; ++column)
    for (int row = 0; row < M.n; ++row) {
      const size_t i = 2 * (size_t(column) * size_t(M.n) + size_t(row));
      M.re_row(row)[column] = reals[i];
      M.im_row(row)[column] = reals[i + 1];
    }
  return M;
}

SplitMatrix g5_adjoint(const SplitMatrix& M) {
  SplitMatrix out(M.n);
  for (int row = 0; row < M.n; ++row)
    for (int column = 0; column < M.n; ++column) {
      const double sign = (2 * row < M.n) == (2 * column < M.n) ? 1 : -1;
      out.re_row(row)[column] = sign * M.re_row(column)[row];
      out.im_row(row)[column] = -sign * M.im_row(column)[row];
    }
  return out;
}

void add_product(SplitMatrix& out, double factor, const SplitMatrix& a, const SplitMatrix& b) {
  for (int i = 0; i < out.n; ++i)
    for (int k = 0; k < out.n; ++k)
      add_multiple(out.re_row(i), out.im_row(i), factor * a.re_row(i)[k], factor * a.im_row(i)[k],
                   b.re_row(k), b.im_row(k), out.n);
}

void add_block(SplitMatrix& out, const SplitMatrix& block, int first_row, int first_column) {
  for (int i = 0; i < block.n; ++i)
    add_multiple(out.re_row(first_row + i) + first_column, out.im_row(first_row + i) + first_column, 1, 0,
                 block.re_row(i), block.im_row(i), block.n);
}

/// Inverts in place: the columns of the unit matrix take those of A that are done. Rows that change their
/// places are columns of the inverse that change theirs back.
SplitInverse inverse_of(SplitMatrix A) {
  const int n = A.n;
  const double size2 = largest_element2(A);
  std::vector<int> pivots;
  for (int k = 0; k < n; ++k) {
    const auto size2_at = [&](int i) {
      return A.re_row(i)[k] * A.re_row(i)[k] + A.im_row(i)[k] * A.im_row(i)[k];
    };
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (size2_at(i) > size2_at(pivot)) pivot = i;
    const double pivot2 = size2_at(pivot);
    if (!(pivot2 > 0) || !std::isfinite(pivot2))
      return {std::move(A), std::numeric_limits<double>::infinity()};
    pivots.push_back(pivot);
    if (pivot != k) swap_rows(A, k, pivot);
    double *re = A.re_row(k), *im = A.im_row(k);
    const double inverse_re = re[k] / pivot2, inverse_im = -im[k] / pivot2;
    re[k] = 1;
    im[k] = 0;
    for (int j = 0; j < n; ++j) {
      const double x = re[j], y = im[j];
      re[j] = inverse_re * x - inverse_im * y;
      im[j] = inverse_re * y + inverse_im * x;
    }
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const double f_re = A.re_row(i)[k], f_im = A.im_row(i)[k];
      A.re_row(i)[k] = A.im_row(i)[k] = 0;
      add_multiple(A.re_row(i), A.im_row(i), -f_re, -f_im, re, im, n);
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    if (pivots[size_t(k)] == k) continue;
    for (int i = 0; i < n; ++i) {
      std::swap(A.re_row(i)[k], A.re_row(i)[pivots[size_t(k)]]);
      std::swap(A.im_row(i)[k], A.im_row(i)[pivots[size_t(k)]]);
    }
  }
  const double condition = std::sqrt(size2 * largest_element2(A));
  return {std::move(A), std::isfinite(condition) ? condition : std::numeric_limits<double>::infinity()};
}

}  // namespace trellis
