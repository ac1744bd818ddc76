#pragma once
/// Colour vectors and 3x3 colour matrices have the elements e[row][column]; the order of every sum is fixed
/// here.
#include "trellis/algebra/complex.hpp"
#include "trellis/algebra/unroll.hpp"

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

/// Returns (U v)_i = sum_j U_ij v_j; 66 flop.
template <class R>
TRELLIS_SITE_FN ColorVector<R> operator*(const ColorMatrix<R>& U, const ColorVector<R>& v) {
  ColorVector<R> r;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    r.c[i] = U.e[i][0] * v.c[0];
    mul_add(r.c[i], U.e[i][1], v.c[1]);
    mul_add(r.c[i], U.e[i][2], v.c[2]);
  });
  return r;
}
/// Returns (U^dagger v)_i = sum_j conj(U_ji) v_j; 66 flop.
template <class R>
TRELLIS_SITE_FN ColorVector<R> dagger_mul(const ColorMatrix<R>& U, const ColorVector<R>& v) {
  ColorVector<R> r;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    r.c[i] = conj_mul(U.e[0][i], v.c[0]);
    conj_mul_add(r.c[i], U.e[1][i], v.c[1]);
    conj_mul_add(r.c[i], U.e[2][i], v.c[2]);
  });
  return r;
}

template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator+(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = a.e[i][j] + b.e[i][j];
  });
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator-(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = a.e[i][j] - b.e[i][j];
  });
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const R& s, const ColorMatrix<R>& a) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = s * a.e[i][j];
  });
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const Complex<R>& s, const ColorMatrix<R>& a) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = s * a.e[i][j];
  });
  return r;
}
/// Returns a b; 198 flop.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = a.e[i][0] * b.e[0][j];
    mul_add(r.e[i][j], a.e[i][1], b.e[1][j]);
    mul_add(r.e[i][j], a.e[i][2], b.e[2][j]);
  });
  return r;
}
/// Returns a b^dagger.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> mul_dagger(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = conj_mul(b.e[j][0], a.e[i][0]);
    conj_mul_add(r.e[i][j], b.e[j][1], a.e[i][1]);
    conj_mul_add(r.e[i][j], b.e[j][2], a.e[i][2]);
  });
  return r;
}
/// Returns a^dagger b.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> dagger_mul(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = conj_mul(a.e[0][i], b.e[0][j]);
    conj_mul_add(r.e[i][j], a.e[1][i], b.e[1][j]);
    conj_mul_add(r.e[i][j], a.e[2][i], b.e[2][j]);
  });
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> dagger(const ColorMatrix<R>& a) {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = conj(a.e[j][i]);
  });
  return r;
}
template <class R>
TRELLIS_SITE_FN Complex<R> trace(const ColorMatrix<R>& a) {
  return a.e[0][0] + a.e[1][1] + a.e[2][2];
}
/// Returns Re tr(a b^dagger) = sum_ij Re(a_ij conj(b_ij)); 36 flop.
template <class R>
TRELLIS_SITE_FN R real_trace_mul_dagger(const ColorMatrix<R>& a, const ColorMatrix<R>& b) {
  R sum = a.e[0][0].re * b.e[0][0].re;
  sum = fma(a.e[0][0].im, b.e[0][0].im, sum);
  unroll<Nc * Nc - 1>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = (k + 1) / Nc, j = (k + 1) % Nc;
    sum = fma(a.e[i][j].re, b.e[i][j].re, sum);
    sum = fma(a.e[i][j].im, b.e[i][j].im, sum);
  });
  return sum;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> identity_matrix() {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = {R(i == j ? 1 : 0), R(0)};
  });
  return r;
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> zero_matrix() {
  ColorMatrix<R> r;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    r.e[i][j] = {R(0), R(0)};
  });
  return r;
}

/// This is a row of a matrix, which has products with colour vectors. Kernels take a link row by row: six
/// registers at a time.
template <class R>
struct ColorRow {
  Complex<R> c[Nc];
};
/// Returns sum_j row_j v_j.
template <class R>
TRELLIS_SITE_FN Complex<R> operator*(const ColorRow<R>& row, const ColorVector<R>& v) {
  Complex<R> r = row.c[0] * v.c[0];
  mul_add(r, row.c[1], v.c[1]);
  mul_add(r, row.c[2], v.c[2]);
  return r;
}
/// Returns conj(a x b), the third row of a special unitary matrix with the rows a and b; 42 flop.
template <class R>
TRELLIS_SITE_FN ColorRow<R> third_row(const ColorRow<R>& a, const ColorRow<R>& b) {
  ColorRow<R> r;
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    constexpr int k = (j + 1) % Nc, l = (j + 2) % Nc;
    const Complex<R> p = a.c[k] * b.c[l];
    r.c[j].re = fma(a.c[l].im, b.c[k].im, fnma(a.c[l].re, b.c[k].re, p.re));
    r.c[j].im = fma(a.c[l].im, b.c[k].re, fma(a.c[l].re, b.c[k].im, -p.im));
  });
  return r;
}

/// Completes a matrix whose first two rows are those of a special unitary one.
template <class R>
TRELLIS_SITE_FN void rebuild_third_row(ColorMatrix<R>& U) {
  const ColorRow<R> a = {{U.e[0][0], U.e[0][1], U.e[0][2]}}, b = {{U.e[1][0], U.e[1][1], U.e[1][2]}};
  const ColorRow<R> c = third_row(a, b);
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA { U.e[2][j] = c.c[j]; });
}

}  // namespace trellis
