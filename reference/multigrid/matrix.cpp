#include "reference/multigrid/matrix.hpp"

#include <cmath>
#include <numeric>

#include "trellis/base/error.hpp"

namespace trellis::reference {

namespace {
Complex<double> reciprocal(const Complex<double>& a) { return (1 / norm2(a)) * conj(a); }
}  // namespace

Matrix::Matrix(int rows_wanted, int columns_wanted)
    : rows{rows_wanted},
      columns{columns_wanted},
      entries(size_t(rows_wanted) * size_t(columns_wanted), Complex<double>{0, 0}) {}

void multiply_add(Complex<double>* out, const Matrix& A, const Complex<double>* in) {
  for (int i = 0; i < A.rows; ++i)
    for (int j = 0; j < A.columns; ++j) mul_add(out[i], A(i, j), in[j]);
}

double norm2(const Matrix& A) {
  double sum = 0;
  for (const auto& entry : A.entries) sum += norm2(entry);
  return sum;
}

LU::LU(Matrix A) : factors_{std::move(A)}, rows_(size_t(factors_.rows)) {
  const int n = factors_.rows;
  TRELLIS_REQUIRE(n == factors_.columns, "a matrix of ", n, " rows and ", factors_.columns,
                  " columns has no LU decomposition here");
  std::iota(rows_.begin(), rows_.end(), 0);
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (norm2(factors_(i, k)) > norm2(factors_(pivot, k))) pivot = i;
    if (!(norm2(factors_(pivot, k)) > 0))
      throw NumericError(message("a matrix of ", n, " rows is singular: pivot ", k, " is zero"));
    for (int j = 0; j < n && pivot != k; ++j) std::swap(factors_(k, j), factors_(pivot, j));
    std::swap(rows_[size_t(k)], rows_[size_t(pivot)]);
    const Complex<double> scale = reciprocal(factors_(k, k));
    for (int i = k + 1; i < n; ++i) {
      factors_(i, k) = scale * factors_(i, k);
      const Complex<double> factor = -factors_(i, k);
      for (int j = k + 1; j < n; ++j) mul_add(factors_(i, j), factor, factors_(k, j));
    }
  }
}

std::vector<Complex<double>> LU::solve(const std::vector<Complex<double>>& b) const {
  const int n = factors_.rows;
  TRELLIS_REQUIRE(int(b.size()) == n, "a right-hand side has ", b.size(), " components for ", n, " rows");
  std::vector<Complex<double>> x(b.size());
  for (int i = 0; i < n; ++i) {
    x[size_t(i)] = b[size_t(rows_[size_t(i)])];
    for (int j = 0; j < i; ++j) mul_add(x[size_t(i)], -factors_(i, j), x[size_t(j)]);
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j) mul_add(x[size_t(i)], -factors_(i, j), x[size_t(j)]);
    x[size_t(i)] = reciprocal(factors_(i, i)) * x[size_t(i)];
  }
  return x;
}

Matrix LU::inverse() const {
  const int n = factors_.rows;
  Matrix result(n, n);
  for (int column = 0; column < n; ++column) {
    std::vector<Complex<double>> unit(size_t(n), Complex<double>{0, 0});
    unit[size_t(column)] = {1, 0};
    const auto x = solve(unit);
    for (int row = 0; row < n; ++row) result(row, column) = x[size_t(row)];
  }
  return result;
}

double LU::log_abs_determinant() const {
  double sum = 0;
  for (int i = 0; i < factors_.rows; ++i) sum += 0.5 * std::log(norm2(factors_(i, i)));
  return sum;
}

}  // namespace trellis::reference
