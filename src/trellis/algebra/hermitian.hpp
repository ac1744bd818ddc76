#pragma once
/// Hermitian colour matrices are the nine reals that they have; here are their products and invariants.
#include "trellis/algebra/antihermitian.hpp"

namespace trellis {

/// The diagonal is H_ii = diagonal_i.
template <class R>
using HermitianMatrix = TriangleMatrix<R, 1>;

/// Returns -i A.
template <class R>
TRELLIS_SITE_FN HermitianMatrix<R> hermitian(const AntihermitianMatrix<R>& A) {
  HermitianMatrix<R> H;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    H.diagonal[i] = A.diagonal[i];
    H.below[i] = {A.below[i].im, -A.below[i].re};
  });
  return H;
}

/// Returns (M + M^dagger) / 2; 12 flop.
template <class R>
TRELLIS_SITE_FN HermitianMatrix<R> hermitian_part(const ColorMatrix<R>& M) {
  HermitianMatrix<R> H;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    H.diagonal[i] = M.e[i][i].re;
    unroll<i>([&](auto j) TRELLIS_INLINE_LAMBDA {
      H.below[i + j - 1] = {R(0.5) * (M.e[i][j].re + M.e[j][i].re), R(0.5) * (M.e[i][j].im - M.e[j][i].im)};
    });
  });
  return H;
}

/// Returns H^2; 51 flop.
template <class R>
TRELLIS_SITE_FN HermitianMatrix<R> square(const HermitianMatrix<R>& H) {
  const R(&d)[Nc] = H.diagonal;
  const Complex<R>&h10 = H.below[0], &h20 = H.below[1], &h21 = H.below[2];
  const R n10 = norm2(h10), n20 = norm2(h20), n21 = norm2(h21);
  HermitianMatrix<R> S;
  S.diagonal[0] = fma(d[0], d[0], n10 + n20);
  S.diagonal[1] = fma(d[1], d[1], n10 + n21);
  S.diagonal[2] = fma(d[2], d[2], n20 + n21);
  S.below[0] = (d[0] + d[1]) * h10;
  conj_mul_add(S.below[0], h21, h20);
  S.below[1] = (d[0] + d[2]) * h20;
  mul_add(S.below[1], h21, h10);
  S.below[2] = (d[1] + d[2]) * h21;
  mul_add(S.below[2], h20, conj(h10));
  return S;
}

/// Returns tr H^2 / 2 of a square H^2; 3 flop.
template <class R>
TRELLIS_SITE_FN R half_trace(const HermitianMatrix<R>& S) {
  return R(0.5) * ((S.diagonal[0] + S.diagonal[1]) + S.diagonal[2]);
}

/// Returns det H; 27 flop.
template <class R>
TRELLIS_SITE_FN R determinant(const HermitianMatrix<R>& H) {
  const R(&d)[Nc] = H.diagonal;
  const R cyclic = conj_mul(H.below[1], H.below[0] * H.below[2]).re;
  R det = fma(d[0], fma(d[1], d[2], -norm2(H.below[2])), R(2.0) * cyclic);
  det = fnma(d[1], norm2(H.below[1]), det);
  return fnma(d[2], norm2(H.below[0]), det);
}

/// Returns tr(H M); 58 flop.
template <class R>
TRELLIS_SITE_FN Complex<R> trace_of_product(const HermitianMatrix<R>& H, const ColorMatrix<R>& M) {
  Complex<R> sum = H.diagonal[0] * M.e[0][0];
  unroll<Nc - 1>([&](auto i) TRELLIS_INLINE_LAMBDA {
    sum = {fma(H.diagonal[i + 1], M.e[i + 1][i + 1].re, sum.re),
           fma(H.diagonal[i + 1], M.e[i + 1][i + 1].im, sum.im)};
  });
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    unroll<i>([&](auto j) TRELLIS_INLINE_LAMBDA {
      mul_add(sum, H.below[i + j - 1], M.e[j][i]);
      conj_mul_add(sum, H.below[i + j - 1], M.e[i][j]);
    });
  });
  return sum;
}

/// Returns G H + H G; 102 flop.
template <class R>
TRELLIS_SITE_FN HermitianMatrix<R> anticommutator(const HermitianMatrix<R>& G, const HermitianMatrix<R>& H) {
  HermitianMatrix<R> A;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    constexpr int j = (i + 1) % Nc, k = (i + 2) % Nc;
    R sum = G.diagonal[i] * H.diagonal[i];
    sum = sum + conj_mul(G.template element<j, i>(), H.template element<j, i>()).re;
    sum = sum + conj_mul(G.template element<k, i>(), H.template element<k, i>()).re;
    A.diagonal[i] = sum + sum;
    unroll<i>([&](auto l) TRELLIS_INLINE_LAMBDA {
      constexpr int other = Nc - i - l;
      Complex<R> z = (G.diagonal[i] + G.diagonal[l]) * H.template element<i, l>();
      const R trace = H.diagonal[i] + H.diagonal[l];
      const Complex<R> g = G.template element<i, l>();
      z = {fma(trace, g.re, z.re), fma(trace, g.im, z.im)};
      mul_add(z, G.template element<i, other>(), H.template element<other, l>());
      mul_add(z, H.template element<i, other>(), G.template element<other, l>());
      A.below[i + l - 1] = z;
    });
  });
  return A;
}

}  // namespace trellis
