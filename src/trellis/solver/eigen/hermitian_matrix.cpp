#include "trellis/solver/eigen/hermitian_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
using Complex64 = std::complex<double>;

double off_diagonal_norm2(const DenseMatrix& H) {
  double sum = 0;
  for (int i = 0; i < H.n; ++i)
    for (int j = i + 1; j < H.n; ++j) sum += std::norm(H.at(i, j));
  return 2 * sum;
}

/// Mixes rows p and q of M: (p, q) <- (c p - conj(s) q, s p + c q) with s complex.
void rotate_rows(DenseMatrix& M, int p, int q, double c, Complex64 s) {
  Complex64* a = &M.at(p, 0);
  Complex64* b = &M.at(q, 0);
  for (int k = 0; k < M.n; ++k) {
    const Complex64 x = a[k], y = b[k];
    a[k] = c * x - std::conj(s) * y;
    b[k] = s * x + c * y;
  }
}

/// Applies the rotation that makes H_pq vanish: H <- R H R^dagger, V <- R V (the rows of V are eigenvectors,
/// conjugated).
void annihilate(DenseMatrix& H, DenseMatrix& V, int p, int q) {
  const Complex64 h = H.at(p, q);
  const double size = std::abs(h);
  if (size == 0) return;
  const double tau = (H.at(q, q).real() - H.at(p, p).real()) / (2 * size);
  const double t = (tau >= 0 ? 1.0 : -1.0) / (std::abs(tau) + std::sqrt(1 + tau * tau));
  const double c = 1 / std::sqrt(1 + t * t);
  const Complex64 s = t * c * std::conj(h) / size;
  rotate_rows(H, p, q, c, s);
  for (int k = 0; k < H.n; ++k) {  // columns turn with the conjugate rotation
    const Complex64 x = H.at(k, p), y = H.at(k, q);
    H.at(k, p) = c * x - s * y;
    H.at(k, q) = std::conj(s) * x + c * y;
  }
  H.at(p, q) = H.at(q, p) = 0;
  rotate_rows(V, p, q, c, s);
}
}  // namespace

HermitianEigensystem diagonalise(DenseMatrix H) {
  const int n = H.n;
  double scale = 0;
  for (int i = 0; i < n; ++i) {
    H.at(i, i) = H.at(i, i).real();
    for (int j = i + 1; j < n; ++j) H.at(j, i) = std::conj(H.at(i, j));
  }
  for (const Complex64& z : H.values) scale += std::norm(z);
  if (!std::isfinite(scale)) throw NumericError("a matrix to diagonalise has a NaN or Inf");
  DenseMatrix V(n);
  for (int i = 0; i < n; ++i) V.at(i, i) = 1;
  constexpr int sweeps = 60;  // about ten are needed
  for (int sweep = 0; sweep < sweeps && off_diagonal_norm2(H) > 1e-32 * scale; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q)
        if (std::norm(H.at(p, q)) > 1e-36 * scale) annihilate(H, V, p, q);
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return H.at(a, a).real() < H.at(b, b).real(); });
  HermitianEigensystem result{{}, DenseMatrix(n)};
  for (int k = 0; k < n; ++k) {
    const int from = order[size_t(k)];
    result.values.push_back(H.at(from, from).real());
    for (int i = 0; i < n; ++i) result.vectors.at(i, k) = std::conj(V.at(from, i));
  }
  return result;
}

}  // namespace trellis
