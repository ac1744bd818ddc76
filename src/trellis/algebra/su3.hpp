#pragma once
/// These functions take 3x3 matrices in and around SU(3), on scalars and lanes. The generators are T_a =
/// (i/2) lambda_a, with tr T_a T_b = -delta_ab / 2 (doc/conventions.md, Algebra).
#include "trellis/algebra/color.hpp"
#include "trellis/algebra/lane_math.hpp"

namespace trellis {

/// Returns det U = sum_j U_0j (U_1 x U_2)_j; 64 flop.
template <class R>
TRELLIS_SITE_FN Complex<R> determinant(const ColorMatrix<R>& U) {
  Complex<R> det;
  for (int j = 0; j < Nc; ++j) {
    const int k = (j + 1) % Nc, l = (j + 2) % Nc;
    Complex<R> minor = U.e[1][k] * U.e[2][l];
    mul_add(minor, -U.e[1][l], U.e[2][k]);
    if (j == 0)
      det = U.e[0][0] * minor;
    else
      mul_add(det, U.e[0][j], minor);
  }
  return det;
}

/// Returns TA(A) = (A - A^dagger) / 2 - tr(A - A^dagger) / 6; 24 flop.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> traceless_antihermitian(const ColorMatrix<R>& A) {
  ColorMatrix<R> X;
  const R third = R(1.0 / 3.0) * ((A.e[0][0].im + A.e[1][1].im) + A.e[2][2].im);
  for (int i = 0; i < Nc; ++i) {
    X.e[i][i] = {R(0.0), A.e[i][i].im - third};
    for (int j = 0; j < i; ++j) {
      X.e[i][j] = {R(0.5) * (A.e[i][j].re - A.e[j][i].re), R(0.5) * (A.e[i][j].im + A.e[j][i].im)};
      X.e[j][i] = {-X.e[i][j].re, X.e[i][j].im};
    }
  }
  return X;
}

/// Returns sum_a p_a T_a.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> algebra_element(const R (&p)[8]) {
  const R half(0.5), eight = R(0x1.279a74590331cp-2) * p[7];  // 1 / (2 sqrt 3)
  ColorMatrix<R> X;
  X.e[0][0] = {R(0.0), fma(half, p[2], eight)};
  X.e[1][1] = {R(0.0), fnma(half, p[2], eight)};
  X.e[2][2] = {R(0.0), R(-2.0) * eight};
  const int column[3] = {1, 2, 2}, row[3] = {0, 0, 1}, a[3] = {0, 3, 5};
  for (int k = 0; k < 3; ++k) {
    X.e[row[k]][column[k]] = {half * p[a[k] + 1], half * p[a[k]]};
    X.e[column[k]][row[k]] = {-(half * p[a[k] + 1]), half * p[a[k]]};
  }
  return X;
}

/// Computes p_a = -2 tr(X T_a) of a traceless anti-hermitian X.
template <class R>
TRELLIS_SITE_FN void algebra_components(const ColorMatrix<R>& X, R (&p)[8]) {
  p[0] = X.e[0][1].im + X.e[1][0].im;
  p[1] = X.e[0][1].re - X.e[1][0].re;
  p[2] = X.e[0][0].im - X.e[1][1].im;
  p[3] = X.e[0][2].im + X.e[2][0].im;
  p[4] = X.e[0][2].re - X.e[2][0].re;
  p[5] = X.e[1][2].im + X.e[2][1].im;
  p[6] = X.e[1][2].re - X.e[2][1].re;
  p[7] = R(0x1.279a74590331cp-1) * fnma(R(2.0), X.e[2][2].im, X.e[0][0].im + X.e[1][1].im);
}

namespace detail {
template <class R>
TRELLIS_SITE_FN void normalise_row(ColorMatrix<R>& U, int i) {
  const R square = (norm2(U.e[i][0]) + norm2(U.e[i][1])) + norm2(U.e[i][2]);
  const R inverse = R(1.0) / square_root(square);
  for (int j = 0; j < Nc; ++j) U.e[i][j] = inverse * U.e[i][j];
}
}  // namespace detail

/// Makes the first two rows orthonormal by Gram and Schmidt, and the third follows from them: SU(3) to
/// rounding. Leaves an SU(3) matrix unchanged up to rounding; takes 130 flop.
template <class R>
TRELLIS_SITE_FN void reunitarise(ColorMatrix<R>& U) {
  detail::normalise_row(U, 0);
  Complex<R> overlap = conj_mul(U.e[0][0], U.e[1][0]);
  conj_mul_add(overlap, U.e[0][1], U.e[1][1]);
  conj_mul_add(overlap, U.e[0][2], U.e[1][2]);
  for (int j = 0; j < Nc; ++j) mul_add(U.e[1][j], -overlap, U.e[0][j]);
  detail::normalise_row(U, 1);
  rebuild_third_row(U);
}

/// Each of the three SU(2) subgroups has two rows (and columns); they are visited in the order 01, 02, 12.
TRELLIS_SITE_FN int su2_first_row(int subgroup) { return subgroup == 2 ? 1 : 0; }
TRELLIS_SITE_FN int su2_second_row(int subgroup) { return subgroup == 0 ? 1 : 2; }

/// A quaternion is a0 + i a.sigma: an SU(2) matrix if the squares add up to 1.
template <class R>
struct Quaternion {
  R a[4];
};

/// Returns the part of W's 2x2 block (p, q) that is proportional to SU(2): a with block = a0 + i a.sigma +
/// (rest), where the rest does not change Re tr(SU(2) block).
template <class R>
TRELLIS_SITE_FN Quaternion<R> su2_part(const ColorMatrix<R>& W, int p, int q) {
  return {{R(0.5) * (W.e[p][p].re + W.e[q][q].re), R(0.5) * (W.e[p][q].im + W.e[q][p].im),
           R(0.5) * (W.e[p][q].re - W.e[q][p].re), R(0.5) * (W.e[p][p].im - W.e[q][q].im)}};
}

/// Multiplies: A <- g A with g = a0 + i a.sigma in the rows p and q; 84 flop.
template <class R>
TRELLIS_SITE_FN void multiply_su2(const Quaternion<R>& g, int p, int q, ColorMatrix<R>& A) {
  const Complex<R> diagonal = {g.a[0], g.a[3]}, upper = {g.a[2], g.a[1]};
  for (int j = 0; j < Nc; ++j) {
    const Complex<R> first = A.e[p][j], second = A.e[q][j];
    Complex<R> x = diagonal * first, y = conj_mul(diagonal, second);
    mul_add(x, upper, second);
    conj_mul_add(y, -upper, first);
    A.e[p][j] = x;
    A.e[q][j] = y;
  }
}

/// Returns a / |a|, and 1 where a = 0.
template <class R>
TRELLIS_SITE_FN Quaternion<R> normalised(const Quaternion<R>& g, const R& length) {
  const auto is_zero = less_equal(length, R(0x1p-500));
  const R inverse = R(1.0) / select(is_zero, R(1.0), length);
  return {{select(is_zero, R(1.0), inverse * g.a[0]), select(is_zero, R(0.0), inverse * g.a[1]),
           select(is_zero, R(0.0), inverse * g.a[2]), select(is_zero, R(0.0), inverse * g.a[3])}};
}
template <class R>
TRELLIS_SITE_FN R length_of(const Quaternion<R>& g) {
  return square_root(fma(g.a[3], g.a[3], fma(g.a[2], g.a[2], fma(g.a[1], g.a[1], g.a[0] * g.a[0]))));
}

/// Returns the SU(3) matrix W with the largest Re tr(W A^dagger). SU(2) subgroups rotate W, each rotation the
/// best of its kind, and the start is the Gram-Schmidt matrix of A. A lane stops when no rotation of a sweep
/// was above 1e-15, or after 200 sweeps; it is then multiplied with exact ones, so its bits do not depend on
/// the other lanes.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> nearest_su3(const ColorMatrix<R>& A) {
  ColorMatrix<R> W = A;
  reunitarise(W);
  ColorMatrix<R> B = mul_dagger(W, A);  // its real trace grows
  R angle(1.0);                         // it is the largest sin^2 of a rotation in the last sweep
  for (int sweep = 0; sweep < 200; ++sweep) {
    const auto is_active = less(R(1e-30), angle);
    if (!any(is_active)) break;
    angle = R(0.0);
    for (int k = 0; k < 3; ++k) {
      const int p = su2_first_row(k), q = su2_second_row(k);
      const Quaternion<R> a = su2_part(B, p, q), n = normalised(a, length_of(a));
      const R zero(0.0);
      const Quaternion<R> g = {{select(is_active, n.a[0], R(1.0)), select(is_active, -n.a[1], zero),
                                select(is_active, -n.a[2], zero), select(is_active, -n.a[3], zero)}};
      angle = maximum(angle, fma(g.a[1], g.a[1], fma(g.a[2], g.a[2], g.a[3] * g.a[3])));
      multiply_su2(g, p, q, W);
      multiply_su2(g, p, q, B);
    }
  }
  reunitarise(W);
  return W;
}

}  // namespace trellis
