#pragma once
/// Colour vectors and 3x3 colour matrices. e[row][column]; the order of every sum is fixed here.
#include "trellis/algebra/complex.hpp"

namespace trellis {

inline constexpr int Nc = 3;

template <class R>
struct ColorVector {
  Complex<R> c[Nc];
};

template <class R>
struct ColorMatrix {
  Complex<R> e[Nc][Nc];
};

template <class R>
TRELLIS_SITE_FN ColorVector<R> operator+(const ColorVector<R>& a, const ColorVector<R>& b) {
  return {{a.c[0] + b.c[0], a.c[1] + b.c[1], a.c[2] + b.c[2]}};
}
template <class R>
TRELLIS_SITE_FN ColorVector<R> operator-(const ColorVector<R>& a, const ColorVector<R>& b) {
  return {{a.c[0] - b.c[0], a.c[1] - b.c[1], a.c[2] - b.c[2]}};
}
template <class R>
TRELLIS_SITE_FN ColorVector<R> operator*(const R& s, const ColorVector<R>& a) {
  return {{s * a.c[0], s * a.c[1], s * a.c[2]}};
}
template <class R>
TRELLIS_SITE_FN ColorVector<R> operator*(const Complex<R>& s, const ColorVector<R>& a) {
  return {{s * a.c[0], s * a.c[1], s * a.c[2]}};
}

/// (U v)_i = sum_j U_ij v_j; 66 flop.
template <class R>
TRELLIS_SITE_FN ColorVector<R> operator*(const ColorMatrix<R>& U, const ColorVector<R>& v) {
  ColorVector<R> r;
  for (int i = 0; i < Nc; ++i) {
    r.c[i] = U.e[i][0] * v.c[0];
    mul_add(r.c[i], U.e[i][1], v.c[1]);
    mul_add(r.c[i], U.e[i][2], v.c[2]);
  }
  return r;
}
/// (U^dagger v)_i = sum_j conj(U_ji) v_j; 66 flop.
template <class R>
TRELLIS_SITE_FN ColorVector<R> dagger_mul(const ColorMatrix<R>& U, const ColorVector<R>& v) {
  ColorVector<R> r;
  for (int i = 0; i < Nc; ++i) {
    r.c[i] = conj_mul(U.e[0][i], v.c[0]);
    conj_mul_add(r.c[i], U.e[1][i], v.c[1]);
    conj_mul_add(r.c[i], U.e[2][i], v.c[2]);
  }
  return r;
}

template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator+(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = a.e[i][j] + b.e[i][j];
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator-(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = a.e[i][j] - b.e[i][j];
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const R& s, const ColorMatrix<R>& a) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = s * a.e[i][j];
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const Complex<R>& s, const ColorMatrix<R>& a) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = s * a.e[i][j];
  return r;
}
/// a b; 198 flop.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      r.e[i][j] = a.e[i][0] * b.e[0][j];
      mul_add(r.e[i][j], a.e[i][1], b.e[1][j]);
      mul_add(r.e[i][j], a.e[i][2], b.e[2][j]);
    }
  return r;
}
/// a b^dagger
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> mul_dagger(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      r.e[i][j] = conj_mul(b.e[j][0], a.e[i][0]);
      conj_mul_add(r.e[i][j], b.e[j][1], a.e[i][1]);
      conj_mul_add(r.e[i][j], b.e[j][2], a.e[i][2]);
    }
  return r;
}
/// a^dagger b
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> dagger_mul(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      r.e[i][j] = conj_mul(a.e[0][i], b.e[0][j]);
      conj_mul_add(r.e[i][j], a.e[1][i], b.e[1][j]);
      conj_mul_add(r.e[i][j], a.e[2][i], b.e[2][j]);
    }
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> dagger(const ColorMatrix<R>& a) {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = conj(a.e[j][i]);
  return r;
}
template <class R>
TRELLIS_SITE_FN Complex<R> trace(const ColorMatrix<R>& a) {
  return a.e[0][0] + a.e[1][1] + a.e[2][2];
}
/// Re tr(a b^dagger) = sum_ij Re(a_ij conj(b_ij)); 36 flop.
template <class R>
TRELLIS_SITE_FN R real_trace_mul_dagger(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  R sum = a.e[0][0].re * b.e[0][0].re;
  sum = fma(a.e[0][0].im, b.e[0][0].im, sum);
  for (int k = 1; k < Nc * Nc; ++k) {
    sum = fma(a.e[k / Nc][k % Nc].re, b.e[k / Nc][k % Nc].re, sum);
    sum = fma(a.e[k / Nc][k % Nc].im, b.e[k / Nc][k % Nc].im, sum);
  }
  return sum;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> identity_matrix() {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = {R(i == j ? 1 : 0), R(0)};
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> zero_matrix() {
  ColorMatrix<R> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) r.e[i][j] = {R(0), R(0)};
  return r;
}

/// Third row of a special unitary matrix from the first two: c = conj(a x b); 42 flop.
template <class R>
TRELLIS_SITE_FN void rebuild_third_row(ColorMatrix<R>& U) {
  for (int j = 0; j < Nc; ++j) {
    const int k = (j + 1) % Nc, l = (j + 2) % Nc;
    const Complex<R> p = U.e[0][k] * U.e[1][l];
    U.e[2][j].re = fma(U.e[0][l].im, U.e[1][k].im, fnma(U.e[0][l].re, U.e[1][k].re, p.re));
    U.e[2][j].im = fma(U.e[0][l].im, U.e[1][k].re, fma(U.e[0][l].re, U.e[1][k].im, -p.im));
  }
}

}  // namespace trellis
