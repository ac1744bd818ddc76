#include "trellis/field/link_compression.hpp"

#include <cmath>
#include <numbers>

#include "trellis/base/error.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {

namespace {
using Matrix = ColorMatrix<double>;

/// Returns the sum of |M_ij|^2 off the diagonal.
double off_diagonal(const Matrix& M) {
  double sum = 0;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j)
      if (i != j) sum += norm2(M.e[i][j]);
  return sum;
}

/// M <- M R with R = [[c phase, s phase], [-s, c]] in the columns p and q.
void rotate_columns(Matrix& M, int p, int q, double c, double s, const Complex<double>& phase) {
  for (int i = 0; i < Nc; ++i) {
    const Complex<double> a = phase * M.e[i][p], b = M.e[i][q];
    M.e[i][p] = c * a - s * b;
    M.e[i][q] = s * a + c * b;
  }
}

/// Finds the eigenvectors (columns) of a hermitian matrix by Jacobi rotations.
Matrix eigenvectors(Matrix H) {
  Matrix Z = identity_matrix<double>();
  for (int sweep = 0; sweep < 30 && off_diagonal(H) > 1e-33; ++sweep)
    for (int p = 0; p < 2; ++p)
      for (int q = p + 1; q < Nc; ++q) {
        const double size = std::sqrt(norm2(H.e[p][q]));
        if (size < 1e-150) continue;
        const double tau = (H.e[q][q].re - H.e[p][p].re) / (2 * size);
        const double t = (tau < 0 ? -1.0 : 1.0) / (std::fabs(tau) + std::sqrt(tau * tau + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const Complex<double> phase = {H.e[p][q].re / size, H.e[p][q].im / size};
        rotate_columns(H, p, q, c, s, phase);
        H = dagger(H);
        rotate_columns(H, p, q, c, s, phase);
        H = dagger(H);
        rotate_columns(Z, p, q, c, s, phase);
      }
  return Z;
}

/// Q of U = exp(iQ), traceless and hermitian. The eigenvectors of U are those of Re(e^{-i angle} U), unless
/// two eigenvalues share their real part: a pair of eigenvalues does so for one of the angles at most.
Matrix hermitian_logarithm(const Matrix& U) {
  Matrix Z{}, D{};
  double best = 1e300;
  for (const double angle : {0.3, 1.2, 2.1, 2.8}) {
    const Complex<double> z = {0.5 * std::cos(angle), -0.5 * std::sin(angle)};
    const Matrix half = z * U;
    const Matrix vectors = eigenvectors(half + dagger(half)), diagonal = dagger_mul(vectors, U * vectors);
    if (off_diagonal(diagonal) >= best) continue;
    best = off_diagonal(diagonal);
    Z = vectors;
    D = diagonal;
    if (best < 1e-29) break;
  }
  double phase[Nc], sum = 0;
  for (int k = 0; k < Nc; ++k) sum += phase[k] = std::atan2(D.e[k][k].im, D.e[k][k].re);
  // The phases add up to 0 or to 2 pi or -2 pi: the largest moves by a turn. The rest is rounding.
  const double turns = std::round(sum / (2 * std::numbers::pi));
  if (turns != 0) {
    int k = 0;
    for (int i = 1; i < Nc; ++i)
      if (turns * phase[i] > turns * phase[k]) k = i;
    phase[k] -= 2 * std::numbers::pi * turns;
  }
  const double mean = (phase[0] + phase[1] + phase[2]) / 3;
  Matrix scaled = Z;
  for (int i = 0; i < Nc; ++i)
    for (int k = 0; k < Nc; ++k) scaled.e[i][k] = (phase[k] - mean) * Z.e[i][k];
  return mul_dagger(scaled, Z);
}

Complex<double> determinant(const Matrix& U) {
  Complex<double> d = {0, 0};
  for (int j = 0; j < Nc; ++j) {
    const int k = (j + 1) % Nc, l = (j + 2) % Nc;
    mul_add(d, U.e[2][j], U.e[0][k] * U.e[1][l] - U.e[0][l] * U.e[1][k]);
  }
  return d;
}
}  // namespace

void require_link_reals(int link_reals) {
  TRELLIS_REQUIRE(link_reals == 18 || link_reals == 14 || link_reals == 12 || link_reals == 8, "links of ",
                  link_reals, " reals are not among 18, 14, 12, 8");
}

void stored_reals(const Link& U, int link_reals, double* out) {
  require_link_reals(link_reals);
  Matrix matrix;
  for (size_t k = 0; k < 9; ++k) matrix.e[k / 3][k % 3] = {U[k].real(), U[k].imag()};
  if (link_reals == 8) return write_eight_reals(hermitian_logarithm(matrix), out);
  for (int i = 0; i < link_reals; ++i) out[i] = i % 2 ? U[size_t(i / 2)].imag() : U[size_t(i / 2)].real();
  if (link_reals == 14) {
    const Complex<double> d = determinant(matrix);
    out[12] = d.re;
    out[13] = d.im;
  }
}

}  // namespace trellis
