#include "trellis/multigrid/dense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trellis {

namespace {
using complex = std::complex<double>;

double largest_element(const DenseMatrix& A) {
  double largest = 0;
  for (const complex& z : A.values) largest = std::max(largest, std::abs(z));
  return largest;
}
}  // namespace

TriangularFactor inverse_of_cholesky_factor(const DenseMatrix& G) {
  const int n = G.n;
  DenseMatrix R(n);
  TriangularFactor result{DenseMatrix(n), 1};
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < j; ++i) {
      complex sum = G.at(i, j);
      for (int k = 0; k < i; ++k) sum -= std::conj(R.at(k, i)) * R.at(k, j);
      R.at(i, j) = sum / R.at(i, i).real();
    }
    double pivot = G.at(j, j).real();
    for (int k = 0; k < j; ++k) pivot -= std::norm(R.at(k, j));
    const double ratio = G.at(j, j).real() > 0 ? pivot / G.at(j, j).real() : 0;
    if (!(ratio >= result.least_pivot)) result.least_pivot = ratio;
    if (!(pivot > 0)) return result;
    R.at(j, j) = std::sqrt(pivot);
  }
  DenseMatrix& X = result.inverse;
  for (int j = 0; j < n; ++j) {
    X.at(j, j) = 1.0 / R.at(j, j).real();
    for (int i = j - 1; i >= 0; --i) {
      complex sum = 0;
      for (int k = i + 1; k <= j; ++k) sum -= R.at(i, k) * X.at(k, j);
      X.at(i, j) = sum / R.at(i, i).real();
    }
  }
  return result;
}

std::vector<double> independent_parts(const DenseMatrix& G, double least) {
  DenseMatrix R(G.n);
  std::vector<double> parts;
  for (int j = 0; j < G.n; ++j) {
    double left = G.at(j, j).real();
    for (int i = 0; i < j; ++i) {
      if (!(parts[size_t(i)] > least)) continue;  // its row of R is zero
      complex sum = G.at(i, j);
      for (int k = 0; k < i; ++k) sum -= std::conj(R.at(k, i)) * R.at(k, j);
      R.at(i, j) = sum / R.at(i, i).real();
      left -= std::norm(R.at(i, j));
    }
    parts.push_back(left > 0 ? left / G.at(j, j).real() : 0.0);
    if (parts.back() > least) R.at(j, j) = std::sqrt(left);
  }
  return parts;
}

DenseInverse inverse_of(const DenseMatrix& A) {
  const int n = A.n;
  DenseMatrix left = A, right(n);
  for (int i = 0; i < n; ++i) right.at(i, i) = 1;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (std::abs(left.at(i, k)) > std::abs(left.at(pivot, k))) pivot = i;
    if (!(std::abs(left.at(pivot, k)) > 0))
      return {std::move(right), std::numeric_limits<double>::infinity()};
    for (int j = 0; j < n; ++j) {
      std::swap(left.at(k, j), left.at(pivot, j));
      std::swap(right.at(k, j), right.at(pivot, j));
    }
    const complex factor = 1.0 / left.at(k, k);
    for (int j = 0; j < n; ++j) {
      left.at(k, j) *= factor;
      right.at(k, j) *= factor;
    }
    for (int i = 0; i < n; ++i) {
      if (i == k || left.at(i, k) == 0.0) continue;
      const complex f = left.at(i, k);
      for (int j = k; j < n; ++j) left.at(i, j) -= f * left.at(k, j);
      for (int j = 0; j < n; ++j) right.at(i, j) -= f * right.at(k, j);
    }
  }
  const double condition = largest_element(A) * largest_element(right);
  return {std::move(right), std::isfinite(condition) ? condition : std::numeric_limits<double>::infinity()};
}

}  // namespace trellis
