#pragma once
/// Functions of 3x3 matrices in and around SU(3), on scalars and lanes: projections, exponential, generators.
/// T_a = (i/2) lambda_a, tr T_a T_b = -delta_ab / 2 (doc/conventions.md, Algebra).
#include "trellis/algebra/color.hpp"
#include "trellis/algebra/lane_math.hpp"

namespace trellis {

/// det U = sum_j U_0j (U_1 x U_2)_j; 64 flop.
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

/// TA(A) = (A - A^dagger) / 2 - tr(A - A^dagger) / 6; 24 flop.
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

/// sum_a p_a T_a
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

/// p_a = -2 tr(X T_a) of a traceless anti-hermitian X.
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

/// exp(X) = f0 + f1 Q + f2 Q^2 for X = i Q traceless and anti-hermitian, and what the derivative of it needs.
/// C. Morningstar and M. Peardon, Phys. Rev. D69 (2004) 054501, eqs. 20-33, with c0 replaced by |c0| and the
/// f conjugated where it is negative. cos(theta/3) is the largest root of 4 y^3 - 3 y = cos(theta), by
/// Newton's iteration: no arccos. Near degenerate eigenvalues numerators and denominators stay consistent,
/// since 9 u^2 - w^2 is at least 2 c1: exp(X) has an absolute error of a few roundings for every |X| of order
/// 10 and less, 0 included.
template <class R>
struct ExponentialCoefficients {
  Complex<R> f[3];
  R u, w, xi0;            ///< sin(w) / w
  R c1;                   ///< tr Q^2 / 2
  MaskOf<R> is_negative;  ///< c0 = det Q < 0
};

namespace detail {
/// cos(arccos(x) / 3), 0 <= x <= 1. The start is good to 4e-5, a step squares that and multiplies with 3/2.
template <class R>
TRELLIS_SITE_FN R cosine_of_third(const R& x) {
  R y = fma(fma(fma(R(0.009444), x, R(-0.040881)), x, R(0.165404)), x, R(0.866062));
  for (int step = 0; step < 2; ++step) {
    const R square = y * y;
    const R value = fma(y, fma(R(4.0), square, R(-3.0)), -x);
    y = y - value / fma(R(12.0), square, R(-3.0));
  }
  return smaller_of(y, R(1.0));
}
}  // namespace detail

template <class R>
TRELLIS_SITE_FN ExponentialCoefficients<R> exponential_coefficients(const R& c0, const R& c1) {
  ExponentialCoefficients<R> r;
  r.is_negative = less(c0, R(0.0));
  r.c1 = c1;
  const R safe_c1 = maximum(c1, R(0x1p-200));  // Q = 0 would be 0 / 0
  const R third = R(1.0 / 3.0) * safe_c1, root = square_root(third);
  const R y = detail::cosine_of_third(smaller_of(absolute(c0) / (R(2.0) * third * root), R(1.0)));
  const R u = root * y, w_square = safe_c1 * maximum(fnma(y, y, R(1.0)), R(0.0)), w = square_root(w_square);
  const SinCos<R> su = sin_cos(u), sw = sin_cos(w);
  const R xi0 = select(less(R(0x1p-200), w), sw.sin / maximum(w, R(0x1p-200)), R(1.0));
  const R u_square = u * u;
  // e^{-iu}, e^{2iu}
  const Complex<R> minus = {su.cos, -su.sin};
  const Complex<R> twice = {fnma(su.sin, su.sin, su.cos * su.cos), R(2.0) * su.sin * su.cos};
  const R difference = u_square - w_square, sum = fma(R(3.0), u_square, w_square);
  const R less_sum = fma(R(3.0), u_square, -w_square);
  const Complex<R> b0 = {R(8.0) * u_square * sw.cos, R(2.0) * u * sum * xi0};
  const Complex<R> b1 = {R(2.0) * u * sw.cos, -(less_sum * xi0)};
  const Complex<R> b2 = {sw.cos, R(3.0) * u * xi0};
  const R inverse = R(1.0) / fma(R(9.0), u_square, -w_square);
  r.f[0] = inverse * (difference * twice + minus * b0);
  r.f[1] = inverse * (R(2.0) * u * twice - minus * b1);
  r.f[2] = inverse * (twice - minus * b2);
  // f_j(-c0) = (-1)^j conj f_j(c0)
  for (int j = 0; j < 3; ++j) {
    Complex<R>& f = r.f[j];
    f = {j == 1 ? select(r.is_negative, -f.re, f.re) : f.re,
         j == 1 ? f.im : select(r.is_negative, -f.im, f.im)};
  }
  r.u = u;
  r.w = w;
  r.xi0 = xi0;
  return r;
}

/// exp(X), X traceless and anti-hermitian; about 500 flop.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> exponential(const ColorMatrix<R>& X) {
  ColorMatrix<R> Q;  // -i X
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) Q.e[i][j] = {X.e[i][j].im, -X.e[i][j].re};
  const ColorMatrix<R> square = Q * Q;
  const R c0 = determinant(Q).re;
  const R c1 = R(0.5) * ((square.e[0][0].re + square.e[1][1].re) + square.e[2][2].re);
  const ExponentialCoefficients<R> k = exponential_coefficients(c0, c1);
  ColorMatrix<R> U;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      U.e[i][j] = k.f[1] * Q.e[i][j];
      mul_add(U.e[i][j], k.f[2], square.e[i][j]);
      if (i == j) U.e[i][j] = U.e[i][j] + k.f[0];
    }
  return U;
}

namespace detail {
template <class R>
TRELLIS_SITE_FN void normalise_row(ColorMatrix<R>& U, int i) {
  const R square = (norm2(U.e[i][0]) + norm2(U.e[i][1])) + norm2(U.e[i][2]);
  const R inverse = R(1.0) / square_root(square);
  for (int j = 0; j < Nc; ++j) U.e[i][j] = inverse * U.e[i][j];
}
}  // namespace detail

/// Gram and Schmidt on the first two rows, the third from them: SU(3) to rounding. About 130 flop.
/// Leaves an SU(3) matrix unchanged up to rounding.
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

/// Rows (and columns) of the three SU(2) subgroups, in the order in which they are visited: 01, 02, 12.
TRELLIS_SITE_FN int su2_first_row(int subgroup) { return subgroup == 2 ? 1 : 0; }
TRELLIS_SITE_FN int su2_second_row(int subgroup) { return subgroup == 0 ? 1 : 2; }

/// a0 + i a.sigma: an SU(2) matrix if the squares add up to 1.
template <class R>
struct Quaternion {
  R a[4];
};

/// The part of W's 2x2 block (p, q) that is proportional to SU(2): a with block = a0 + i a.sigma + (rest),
/// rest invisible in Re tr(SU(2) block).
template <class R>
TRELLIS_SITE_FN Quaternion<R> su2_part(const ColorMatrix<R>& W, int p, int q) {
  return {{R(0.5) * (W.e[p][p].re + W.e[q][q].re), R(0.5) * (W.e[p][q].im + W.e[q][p].im),
           R(0.5) * (W.e[p][q].re - W.e[q][p].re), R(0.5) * (W.e[p][p].im - W.e[q][q].im)}};
}

/// A <- g A with g = a0 + i a.sigma in the rows p and q; 84 flop.
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

/// a / |a|; 1 where a = 0.
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

/// The SU(3) matrix W with the largest Re tr(W A^dagger): rotations of W by SU(2) subgroups, each the best of
/// its kind, begun from the Gram-Schmidt matrix of A. A lane stops when no rotation of a sweep was above
/// 1e-15, or after 200 sweeps; it is then multiplied with exact ones, so its bits do not depend on the other
/// lanes.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> nearest_su3(const ColorMatrix<R>& A) {
  ColorMatrix<R> W = A;
  reunitarise(W);
  ColorMatrix<R> B = mul_dagger(W, A);  // its real trace grows
  R angle(1.0);                         // largest sin^2 of a rotation in the last sweep
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
