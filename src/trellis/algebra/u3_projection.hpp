#pragma once
/// This file projects a 3x3 matrix to U(3), W = V (V^dagger V)^(-1/2), and has the derivative of that.
/// Eigenvalues come from cyclic Jacobi rotations, a fixed number for every lane, so that lanes do not part.
#include "trellis/algebra/color.hpp"
#include "trellis/algebra/lane_functions.hpp"
#include "trellis/algebra/lane_math.hpp"

namespace trellis {

/// A hermitian matrix has these eigenvalues, and these eigenvectors as columns.
template <class R>
struct Eigensystem {
  R values[Nc];
  ColorMatrix<R> vectors;
};

namespace detail {
/// Rotates: A <- J^dagger A J, E <- E J with J = ((c, s z), (-s conj z, c)) on (p, q), chosen so that A_pq =
/// 0; z = A_pq / |A_pq|, and t = s/c is the smaller root of t^2 + 2 tau t - 1 = 0 (Golub and Van Loan, 8.5).
template <int p, int q, class R>
TRELLIS_SITE_FN void jacobi_rotation(ColorMatrix<R>& A, ColorMatrix<R>& E) {
  const R size2 = norm2(A.e[p][q]), tiny(1e-300);
  const auto is_done = less_equal(size2, tiny);
  const R size = square_root(select(is_done, R(1.0), size2)), inverse = R(1.0) / size;
  const Complex<R> z = {select(is_done, R(1.0), A.e[p][q].re * inverse),
                        select(is_done, R(0.0), A.e[p][q].im * inverse)};
  const R tau = R(0.5) * (A.e[q][q].re - A.e[p][p].re) * inverse;
  const R root = R(1.0) / (absolute(tau) + square_root(fma(tau, tau, R(1.0))));
  const R t = select(is_done, R(0.0), select(less(tau, R(0.0)), -root, root));
  const R c = R(1.0) / square_root(fma(t, t, R(1.0))), s = t * c;
  const Complex<R> sz = s * z, minus_sz_conj = {-sz.re, sz.im};
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    const auto turn = [&](ColorMatrix<R>& M) {
      Complex<R> a = c * M.e[i][p], b = c * M.e[i][q];
      mul_add(a, minus_sz_conj, M.e[i][q]);
      mul_add(b, sz, M.e[i][p]);
      M.e[i][p] = a;
      M.e[i][q] = b;
    };
    turn(A);
    turn(E);
  });
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    Complex<R> a = c * A.e[p][j], b = c * A.e[q][j];
    conj_mul_add(a, minus_sz_conj, A.e[q][j]);
    conj_mul_add(b, sz, A.e[p][j]);
    A.e[p][j] = a;
    A.e[q][j] = b;
  });
}
}  // namespace detail

/// Diagonalises a hermitian matrix in six sweeps, after which off-diagonal elements have vanished
/// quadratically.
template <class R>
TRELLIS_SITE_FN Eigensystem<R> eigensystem(ColorMatrix<R> A) {
  Eigensystem<R> result;
  result.vectors = identity_matrix<R>();
  for (int sweep = 0; sweep < 6; ++sweep) {
    detail::jacobi_rotation<0, 1>(A, result.vectors);
    detail::jacobi_rotation<0, 2>(A, result.vectors);
    detail::jacobi_rotation<1, 2>(A, result.vectors);
  }
  for (int i = 0; i < Nc; ++i) result.values[i] = A.e[i][i].re;
  return result;
}

/// Returns W = V (V^dagger V)^(-1/2); a Newton step W (3 - W^dagger W) / 2 takes what rounding left of
/// W^dagger W - 1.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> project_to_u3(const ColorMatrix<R>& V) {
  const Eigensystem<R> e = eigensystem(dagger_mul(V, V));
  ColorMatrix<R> scaled;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    scaled.e[i][j] = (R(1.0) / square_root(maximum(e.values[j], R(1e-300)))) * e.vectors.e[i][j];
  });
  const ColorMatrix<R> W = V * mul_dagger(scaled, e.vectors);
  return R(1.5) * W - R(0.5) * (W * dagger_mul(W, W));
}

/// Returns the derivative with respect to V of a function with the derivative G with respect to W:
///   delta S = Re tr(G delta W) = Re tr(2 Y W^dagger delta V),  Y H + H Y = (G W - (G W)^dagger) / 2,
/// where H = (V^dagger V)^(1/2), from delta V = delta W H + W delta H. Where the smallest eigenvalue of
/// V^dagger V is below `cut`, all of them are raised by `cut` in H (0 never raises any); `is_guarded` is 1
/// there, else 0.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> u3_projection_derivative(const ColorMatrix<R>& V, const ColorMatrix<R>& W,
                                                        const ColorMatrix<R>& G, const R& cut,
                                                        R& is_guarded) {
  const Eigensystem<R> e = eigensystem(dagger_mul(V, V));
  const R smallest = smaller_of(e.values[0], smaller_of(e.values[1], e.values[2]));
  is_guarded = select(less(smallest, cut), R(1.0), R(0.0));
  const R raise = is_guarded * cut;
  R h[Nc];
  for (int i = 0; i < Nc; ++i) h[i] = square_root(maximum(e.values[i] + raise, R(1e-300)));
  const ColorMatrix<R> A = G * W;
  const ColorMatrix<R> antihermitian = R(0.5) * (A - dagger(A));
  ColorMatrix<R> inner = dagger_mul(e.vectors, antihermitian) * e.vectors;
  unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    constexpr int i = k / Nc, j = k % Nc;
    inner.e[i][j] = (R(2.0) / (h[i] + h[j])) * inner.e[i][j];
  });
  return mul_dagger(e.vectors * mul_dagger(inner, e.vectors), W);
}

}  // namespace trellis
