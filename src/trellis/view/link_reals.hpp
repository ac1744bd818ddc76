#pragma once
/// Hops keep an SU(3) link as fewer reals than the 18 of a 3x3 matrix, on the host and on GPUs alike.
#include "trellis/algebra/arc_tangent.hpp"
#include "trellis/view/eight_real_links.hpp"

namespace trellis {

namespace detail {
/// Returns the sum of |M_ij|^2 off the diagonal.
TRELLIS_SITE_FN double off_diagonal(const ColorMatrix<double>& M) {
  double sum = 0;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j)
      if (i != j) sum += norm2(M.e[i][j]);
  return sum;
}

/// Rotates: M <- M R with R = [[c phase, s phase], [-s, c]] in the columns p and q.
TRELLIS_SITE_FN void rotate_columns(ColorMatrix<double>& M, int p, int q, double c, double s,
                                    const Complex<double>& phase) {
  for (int i = 0; i < Nc; ++i) {
    const Complex<double> a = phase * M.e[i][p], b = M.e[i][q];
    M.e[i][p] = c * a - s * b;
    M.e[i][q] = s * a + c * b;
  }
}

/// Finds the eigenvectors (columns) of a hermitian matrix by Jacobi rotations.
TRELLIS_SITE_FN ColorMatrix<double> eigenvectors(ColorMatrix<double> H) {
  ColorMatrix<double> Z = identity_matrix<double>();
  for (int sweep = 0; sweep < 30 && off_diagonal(H) > 1e-33; ++sweep)
    for (int p = 0; p < 2; ++p)
      for (int q = p + 1; q < Nc; ++q) {
        const double size = square_root(norm2(H.e[p][q]));
        if (size < 1e-150) continue;
        const double tau = (H.e[q][q].re - H.e[p][p].re) / (2 * size);
        const double t = (tau < 0 ? -1.0 : 1.0) / ((tau < 0 ? -tau : tau) + square_root(tau * tau + 1));
        const double c = 1 / square_root(t * t + 1), s = t * c;
        const Complex<double> phase = {H.e[p][q].re / size, H.e[p][q].im / size};
        rotate_columns(H, p, q, c, s, phase);
        H = dagger(H);
        rotate_columns(H, p, q, c, s, phase);
        H = dagger(H);
        rotate_columns(Z, p, q, c, s, phase);
      }
  return Z;
}

/// Returns Q of U = exp(iQ), traceless and hermitian. The eigenvectors of U are those of Re(e^{-i angle} U),
/// unless two eigenvalues share their real part: a pair of eigenvalues does so for one of the angles at most.
TRELLIS_SITE_FN ColorMatrix<double> hermitian_logarithm(const ColorMatrix<double>& U) {
  constexpr double turn = 6.2831853071795862;
  // These are cosine and sine of the angles 0.3, 1.2, 2.1 and 2.8.
  constexpr double cosine[4] = {0.955336489125606, 0.3623577544766736, -0.5048461045998576,
                                -0.9422223406686581};
  constexpr double sine[4] = {0.29552020666133955, 0.9320390859672263, 0.8632093666488737,
                              0.3349881501559051};
  ColorMatrix<double> Z = identity_matrix<double>(), D = U;
  double best = 1e300;
  for (int angle = 0; angle < 4; ++angle) {
    const Complex<double> z = {0.5 * cosine[angle], -0.5 * sine[angle]};
    const ColorMatrix<double> half = z * U;
    const ColorMatrix<double> vectors = eigenvectors(half + dagger(half));
    const ColorMatrix<double> diagonal = dagger_mul(vectors, U * vectors);
    if (off_diagonal(diagonal) >= best) continue;
    best = off_diagonal(diagonal);
    Z = vectors;
    D = diagonal;
    if (best < 1e-29) break;
  }
  double phase[Nc], sum = 0;
  for (int k = 0; k < Nc; ++k) sum += phase[k] = arc_tangent(D.e[k][k].im, D.e[k][k].re);
  // The phases add up to 0 or to 2 pi or -2 pi: the largest moves by a turn. The rest is rounding.
  const double turns = nearest_integer(sum / turn);
  if (turns != 0) {
    int k = 0;
    for (int i = 1; i < Nc; ++i)
      if (turns * phase[i] > turns * phase[k]) k = i;
    phase[k] -= turn * turns;
  }
  const double mean = (phase[0] + phase[1] + phase[2]) / 3;
  ColorMatrix<double> scaled = Z;
  for (int i = 0; i < Nc; ++i)
    for (int k = 0; k < Nc; ++k) scaled.e[i][k] = (phase[k] - mean) * Z.e[i][k];
  return mul_dagger(scaled, Z);
}

TRELLIS_SITE_FN Complex<double> determinant(const ColorMatrix<double>& U) {
  Complex<double> d = {0, 0};
  for (int j = 0; j < Nc; ++j) {
    const int k = (j + 1) % Nc, l = (j + 2) % Nc;
    mul_add(d, U.e[2][j], U.e[0][k] * U.e[1][l] - U.e[0][l] * U.e[1][k]);
  }
  return d;
}
}  // namespace detail

/// Writes the N reals that are kept of a link: 18 (all), 14 (two rows and the determinant), 12 (two rows), or
/// 8 (view/eight_real_links.hpp). @pre U is unitary for 14, and special unitary for 12 and 8, to rounding
template <int N>
TRELLIS_SITE_FN void write_link_reals(const ColorMatrix<double>& U, double (&out)[N]) {
  static_assert(N == 18 || N == 14 || N == 12 || N == 8);
  if constexpr (N == 8) {
    write_eight_reals(detail::hermitian_logarithm(U), out);
  } else {
    for (int k = 0; k < N / 2 && k < 9; ++k) {
      out[2 * k] = U.e[k / 3][k % 3].re;
      out[2 * k + 1] = U.e[k / 3][k % 3].im;
    }
    if constexpr (N == 14) {
      const Complex<double> d = detail::determinant(U);
      out[12] = d.re;
      out[13] = d.im;
    }
  }
}

/// Returns the largest squared length of the rows and columns of a link. Divided by that length, a product of
/// 16-bit integers stays within 32 bits (algebra/fixed_point.hpp). It is NaN where a number is not finite.
template <class R>
TRELLIS_SITE_FN R largest_length2(const ColorMatrix<R>& U) {
  R largest(0.0), finite_check(0.0);
  for (int i = 0; i < Nc; ++i) {
    R row(0.0), column(0.0);
    for (int j = 0; j < Nc; ++j) {
      row = row + (U.e[i][j].re * U.e[i][j].re + U.e[i][j].im * U.e[i][j].im);
      column = column + (U.e[j][i].re * U.e[j][i].re + U.e[j][i].im * U.e[j][i].im);
    }
    largest = maximum(maximum(largest, row), column);
    finite_check = finite_check + (row - row);  // NaN stays
  }
  return largest + finite_check;
}

}  // namespace trellis
