#pragma once
/// Antihermitian colour matrices are stored as the nine reals that they have. Their products with others
/// leave out the zeros of the diagonal: they take 162 flop each.
#include "trellis/algebra/color.hpp"

namespace trellis {

/// This is a matrix whose adjoint is `sign` times itself. It holds the diagonal's reals, and M_10, M_20 and
/// M_21 below it; M_ij = sign conj(M_ji).
template <class R, int sign>
struct TriangleMatrix {
  R diagonal[Nc];
  Complex<R> below[Nc];

  /// @pre i != j
  template <int i, int j>
  TRELLIS_SITE_FN Complex<R> element() const {
    static_assert(i != j);
    if constexpr (i > j)
      return below[i + j - 1];
    else if constexpr (sign > 0)
      return conj(below[i + j - 1]);
    else
      return {-below[i + j - 1].re, below[i + j - 1].im};
  }
};

/// The diagonal is A_ii = i diagonal_i.
template <class R>
using AntihermitianMatrix = TriangleMatrix<R, -1>;

/// The matrix is made of the diagonal's imaginary parts and the lower triangle of an antihermitian one.
template <class R>
TRELLIS_SITE_FN AntihermitianMatrix<R> antihermitian(const ColorMatrix<R>& X) {
  AntihermitianMatrix<R> A;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    A.diagonal[i] = X.e[i][i].im;
    unroll<i>([&](auto j) TRELLIS_INLINE_LAMBDA { A.below[i + j - 1] = X.e[i][j]; });
  });
  return A;
}

template <class R>
TRELLIS_SITE_FN ColorMatrix<R> dense(const AntihermitianMatrix<R>& A) {
  ColorMatrix<R> X;
  unroll<Nc * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
    constexpr int i = n / Nc, j = n % Nc;
    if constexpr (i == j)
      X.e[i][i] = {R(0.0), A.diagonal[i]};
    else
      X.e[i][j] = A.template element<i, j>();
  });
  return X;
}

/// Returns r A + s B; 27 flop.
template <class R>
TRELLIS_SITE_FN AntihermitianMatrix<R> combination(const R& r, const AntihermitianMatrix<R>& A, const R& s,
                                                   const AntihermitianMatrix<R>& B) {
  AntihermitianMatrix<R> C;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    C.diagonal[i] = fma(s, B.diagonal[i], r * A.diagonal[i]);
    C.below[i] = {fma(s, B.below[i].re, r * A.below[i].re), fma(s, B.below[i].im, r * A.below[i].im)};
  });
  return C;
}

/// Adds i d z to sum.
template <class R>
TRELLIS_SITE_FN void imaginary_mul_add(Complex<R>& sum, const R& d, const Complex<R>& z) {
  sum = {fnma(d, z.im, sum.re), fma(d, z.re, sum.im)};
}
/// Adds i d conj(z) to sum.
template <class R>
TRELLIS_SITE_FN void imaginary_conj_mul_add(Complex<R>& sum, const R& d, const Complex<R>& z) {
  sum = {fma(d, z.im, sum.re), fma(d, z.re, sum.im)};
}

namespace detail {
/// Returns r_ij = sum_k M_ik A_kj, of M^dagger if is_dagger.
template <bool is_dagger, class R>
TRELLIS_SITE_FN ColorMatrix<R> from_the_left(const ColorMatrix<R>& M, const AntihermitianMatrix<R>& A) {
  auto r = zero_matrix<R>();
  unroll<Nc * Nc * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
    constexpr int i = n / Nc / Nc, j = n / Nc % Nc, k = n % Nc;
    if constexpr (k != j && is_dagger)
      conj_mul_add(r.e[i][j], M.e[k][i], A.template element<k, j>());
    else if constexpr (k != j)
      mul_add(r.e[i][j], M.e[i][k], A.template element<k, j>());
    else if constexpr (is_dagger)
      imaginary_conj_mul_add(r.e[i][j], A.diagonal[j], M.e[j][i]);
    else
      imaginary_mul_add(r.e[i][j], A.diagonal[j], M.e[i][j]);
  });
  return r;
}
/// Returns r_ij = sum_k A_ik M_kj, of M^dagger if is_dagger.
template <bool is_dagger, class R>
TRELLIS_SITE_FN ColorMatrix<R> from_the_right(const AntihermitianMatrix<R>& A, const ColorMatrix<R>& M) {
  auto r = zero_matrix<R>();
  unroll<Nc * Nc * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
    constexpr int i = n / Nc / Nc, j = n / Nc % Nc, k = n % Nc;
    if constexpr (k != i && is_dagger)
      conj_mul_add(r.e[i][j], M.e[j][k], A.template element<i, k>());
    else if constexpr (k != i)
      mul_add(r.e[i][j], A.template element<i, k>(), M.e[k][j]);
    else if constexpr (is_dagger)
      imaginary_conj_mul_add(r.e[i][j], A.diagonal[i], M.e[j][i]);
    else
      imaginary_mul_add(r.e[i][j], A.diagonal[i], M.e[i][j]);
  });
  return r;
}
}  // namespace detail

template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const ColorMatrix<R>& M, const AntihermitianMatrix<R>& A) {
  return detail::from_the_left<false>(M, A);
}
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> operator*(const AntihermitianMatrix<R>& A, const ColorMatrix<R>& M) {
  return detail::from_the_right<false>(A, M);
}
/// Returns M^dagger A.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> dagger_mul(const ColorMatrix<R>& M, const AntihermitianMatrix<R>& A) {
  return detail::from_the_left<true>(M, A);
}
/// Returns A M^dagger.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> mul_dagger(const AntihermitianMatrix<R>& A, const ColorMatrix<R>& M) {
  return detail::from_the_right<true>(A, M);
}

}  // namespace trellis
