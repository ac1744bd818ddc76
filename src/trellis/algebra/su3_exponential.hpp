#pragma once
/// The exponential of a traceless hermitian 3x3 matrix Q is exp(i Q) = f0 + f1 Q + f2 Q^2. Its derivative
/// needs the derivatives of the f with respect to
///
///   c1 = tr Q^2 / 2  and  c0 = det Q = tr Q^3 / 3,    d c1 = tr(Q dQ),  d c0 = tr(Q^2 dQ).
///
/// The source is C. Morningstar and M. Peardon, Phys. Rev. D69 (2004) 054501, eqs. 20-33 and 57-68 (b1_j =
/// df_j/dc1, b2_j = df_j/dc0).
///
/// Small Q, all that smearing and updates meet, take the series, which needs neither roots nor divisions.
#include "trellis/algebra/hermitian.hpp"
#include "trellis/algebra/su3.hpp"

namespace trellis {

template <class R>
struct ExponentialDerivatives {
  Complex<R> f[3], by_c1[3], by_c0[3];
};

/// These coefficients give exp(X) = f0 + f1 Q + f2 Q^2 for X = i Q traceless and anti-hermitian, and the
/// other members are what the derivative of it needs. They follow C. Morningstar and M. Peardon, Phys. Rev.
/// D69 (2004) 054501, eqs. 20-33, with c0 replaced by |c0| and the f conjugated where it is negative.
/// cos(theta/3) is the largest root of 4 y^3 - 3 y = cos(theta), by Newton's iteration: no arccos is needed.
/// Near degenerate eigenvalues numerators and denominators stay consistent, since 9 u^2 - w^2 is at least 2
/// c1: exp(X) has an absolute error of a few roundings for every |X| of order 10 and less, 0 included.
template <class R>
struct ExponentialCoefficients {
  Complex<R> f[3];
  R u, w, xi0;            ///< xi0 is sin(w) / w
  R c1;                   ///< it is tr Q^2 / 2
  MaskOf<R> is_negative;  ///< it says whether c0 = det Q < 0
};

namespace detail {
/// Returns cos(arccos(x) / 3), 0 <= x <= 1. The start is good to 4e-5, a step squares that and multiplies
/// with 3/2.
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
  // These are e^{-iu} and e^{2iu}.
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

namespace detail {

template <class R>
TRELLIS_SITE_FN Complex<R> times_i(const Complex<R>& z) {
  return {-z.im, z.re};
}
template <class R>
TRELLIS_SITE_FN void take_where(const MaskOf<R>& mask, Complex<R>& to, const Complex<R>& from) {
  to = {select(mask, from.re, to.re), select(mask, from.im, to.im)};
}
/// Returns s z + w with a real s.
template <class R>
TRELLIS_SITE_FN Complex<R> real_mul_add(const R& s, const Complex<R>& z, const Complex<R>& w) {
  return {fma(s, z.re, w.re), fma(s, z.im, w.im)};
}

/// The series is taken below this c1, where |Q| is at most 1.64; the first term left out is 3e-17 in double
/// and 2e-10 in single precision.
inline constexpr double exponential_series_limit = 2.0;
inline constexpr int exponential_terms = 22, exponential_terms_in_single = 15;
template <class R>
inline constexpr int exponential_terms_of = sizeof(typename RealTraits<R>::scalar) == 8
                                                ? exponential_terms
                                                : exponential_terms_in_single;

/// Its values are 1 / n!.
struct InverseFactorials {
  double value[exponential_terms + 1];
};
TRELLIS_SITE_FN constexpr InverseFactorials inverse_factorials() {
  InverseFactorials r{{1.0}};
  for (int n = 1; n <= exponential_terms; ++n) r.value[n] = r.value[n - 1] / n;
  return r;
}

/// The series gives exp(X) = g0 + g1 X + g2 X^2 of X = iQ, and e_j = i dg_j / dc0.
template <class R>
struct ExponentialSums {
  Complex<R> g0, g1, g2, e0, e1, e2;
};

/// Sums X^n / n! by Horner's rule with X^3 = -c1 X - i c0: a step takes g to
///
///   (1/n! - i c0 g2, g0 - c1 g2, g1)   and   e to   (g2 - i c0 e2, e0 - c1 e2, e1).
///
/// It has no cancellation near Q = 0, where the closed form divides by c1^2. A term takes 7 flop, 15 with the
/// derivatives. These are variables and no arrays: they stay in registers.
template <bool with_derivatives, class R>
TRELLIS_SITE_FN ExponentialSums<R> exponential_series(const R& c0, const R& c1) {
  constexpr InverseFactorials inverse_factorial = inverse_factorials();
  constexpr int last = exponential_terms_of<R>;
  const R zero(0.0), minus_c0 = -c0;
  ExponentialSums<R> s{{R(inverse_factorial.value[last - 2]), zero},
                       {R(inverse_factorial.value[last - 1]), zero},
                       {R(inverse_factorial.value[last]), zero},
                       {zero, zero},
                       {zero, zero},
                       {zero, zero}};
  unroll<last - 2>([&](auto step) TRELLIS_INLINE_LAMBDA {
    constexpr int n = last - 3 - step;
    const Complex<R> g = s.g2;
    if constexpr (with_derivatives) {
      const Complex<R> e = s.e2;
      s.e2 = s.e1;
      s.e1 = {fnma(c1, e.re, s.e0.re), fnma(c1, e.im, s.e0.im)};
      s.e0 = {fma(c0, e.im, g.re), fma(minus_c0, e.re, g.im)};
    }
    s.g2 = s.g1;
    s.g1 = {fnma(c1, g.re, s.g0.re), fnma(c1, g.im, s.g0.im)};
    s.g0 = {fma(c0, g.im, R(inverse_factorial.value[n])), minus_c0 * g.re};
  });
  return s;
}

inline constexpr double exponential_derivative_flops = 15 * (exponential_terms - 2) + 6;

/// Returns the coefficients in powers of Q. What -dg/dc1 gets in each step is X times what e gets, so that
/// dg/dc1 = -X e.
template <class R>
TRELLIS_SITE_FN ExponentialDerivatives<R> derivatives_by_series(const R& c0, const R& c1) {
  const ExponentialSums<R> s = exponential_series<true>(c0, c1);
  const Complex<R> d1 = {fnma(c1, s.e2.re, s.e0.re), fnma(c1, s.e2.im, s.e0.im)};
  return {{s.g0, times_i(s.g1), -s.g2},
          {{-(c0 * s.e2.im), c0 * s.e2.re}, -times_i(d1), s.e1},
          {-times_i(s.e0), s.e1, times_i(s.e2)}};
}

/// Returns eqs. 60-66, with the signs of eq. 68 for c0 < 0. @pre c1 is not small
template <class R>
TRELLIS_SITE_FN ExponentialDerivatives<R> exponential_closed_form(const R& c0, const R& c1) {
  const ExponentialCoefficients<R> k = exponential_coefficients(c0, c1);
  const R u = k.u, w = k.w, xi0 = k.xi0, uu = u * u, ww = w * w;
  const SinCos<R> su = sin_cos(u), sw = sin_cos(w);
  const R cosine = sw.cos;
  // xi1 is cos w / w^2 - sin w / w^3, which comes from its series near 0.
  const R safe = maximum(ww, R(1e-2));
  const R series =
      fma(fma(fma(fma(ww, R(1.0 / 3991680), R(-1.0 / 45360)), ww, R(1.0 / 840)), ww, R(-1.0 / 30)), ww,
          R(1.0 / 3));
  const R xi1 = select(less(ww, R(1e-2)), -series, (cosine - xi0) / safe);
  const Complex<R> minus = {su.cos, -su.sin};
  const Complex<R> twice = {fnma(su.sin, su.sin, su.cos * su.cos), R(2.0) * su.sin * su.cos};
  const R difference = uu - ww, sum = fma(R(3.0), uu, ww), nine = fma(R(9.0), uu, ww);
  const R two(2.0), four(4.0), eight(8.0);
  Complex<R> r1[3], r2[3];
  r1[0] = Complex<R>{two * u, two * difference} * twice +
          minus * Complex<R>{two * (eight * u * cosine + u * sum * xi0),
                             two * (fma(-four * uu, cosine, nine * xi0))};
  r1[1] = Complex<R>{two, four * u} * twice + minus * Complex<R>{fma(-two, cosine, (sum - two * ww) * xi0),
                                                                 fma(two * u, cosine, R(6.0) * u * xi0)};
  r1[2] =
      Complex<R>{R(0.0), two} * twice + minus * Complex<R>{-(R(3.0) * u * xi0), fma(R(-3.0), xi0, cosine)};
  r2[0] = R(-2.0) * twice +
          minus * Complex<R>{-(eight * uu * xi0), two * u * fma(R(3.0) * uu, xi1, cosine + xi0)};
  r2[1] = minus * Complex<R>{two * u * xi0, fma(R(3.0) * uu, xi1, -(cosine + xi0))};
  r2[2] = minus * Complex<R>{xi0, -(R(3.0) * u * xi1)};
  const R denominator = fma(R(9.0), uu, -ww), inverse = R(0.5) / (denominator * denominator);
  ExponentialDerivatives<R> out;
  for (int j = 0; j < 3; ++j) {
    // This is f_j for |c0|.
    const Complex<R> plain = {j == 1 ? select(k.is_negative, -k.f[j].re, k.f[j].re) : k.f[j].re,
                              j == 1 ? k.f[j].im : select(k.is_negative, -k.f[j].im, k.f[j].im)};
    out.f[j] = k.f[j];
    const Complex<R> b1 =
        inverse * ((two * u) * r1[j] + (sum - two * ww) * r2[j] - (two * fma(R(15.0), uu, ww)) * plain);
    const Complex<R> b2 = inverse * (r1[j] - (R(3.0) * u) * r2[j] - (R(24.0) * u) * plain);
    // b_ij(-c0) = (-1)^(i+j+1) conj b_ij(c0)
    for (int i = 1; i <= 2; ++i) {
      const Complex<R>& b = i == 1 ? b1 : b2;
      const bool is_odd = (i + j + 1) % 2 != 0;
      Complex<R> signed_b = b;
      if (is_odd)
        signed_b.re = select(k.is_negative, -b.re, b.re);
      else
        signed_b.im = select(k.is_negative, -b.im, b.im);
      (i == 1 ? out.by_c1 : out.by_c0)[j] = signed_b;
    }
  }
  return out;
}

template <class R>
inline constexpr bool is_single = sizeof(typename RealTraits<R>::scalar) == 4;

template <class R>
TRELLIS_SITE_FN void set_complex_lane(Complex<R>& z, int i, const Complex<double>& value) {
  using Scalar = typename RealTraits<R>::scalar;
  set_lane(z.re, i, Scalar(value.re));
  set_lane(z.im, i, Scalar(value.im));
}

/// Returns whether a lane is beyond the series.
template <class R>
TRELLIS_SITE_FN bool is_any_large(const R& c1) {
  if constexpr (is_single<R>)
    return any_above(c1, exponential_series_limit);
  else
    return any(less(R(exponential_series_limit), c1));
}

/// Calls the closed form in double for the lanes above the limit of the series, one after the other: few
/// lanes are, and its divisions need the digits.
template <class R, class F>
TRELLIS_SITE_FN void for_each_large_lane(const R& c0, const R& c1, const F& f) {
  for (int i = 0; i < RealTraits<R>::width; ++i)
    if (lane(c1, i) > exponential_series_limit) f(i, double(lane(c0, i)), double(lane(c1, i)));
}

}  // namespace detail

/// Computes each lane by the series or, above its limit, by the closed form: a lane's bits do not depend on
/// the others.
template <class R>
TRELLIS_SITE_FN ExponentialDerivatives<R> exponential_derivatives(const R& c0, const R& c1) {
  ExponentialDerivatives<R> r = detail::derivatives_by_series(c0, c1);
  if (!detail::is_any_large(c1)) return r;
  if constexpr (detail::is_single<R>) {
    detail::for_each_large_lane(c0, c1, [&](int i, double d0, double d1) {
      const ExponentialDerivatives<double> closed = detail::exponential_closed_form(d0, d1);
      for (int j = 0; j < 3; ++j) {
        detail::set_complex_lane(r.f[j], i, closed.f[j]);
        detail::set_complex_lane(r.by_c1[j], i, closed.by_c1[j]);
        detail::set_complex_lane(r.by_c0[j], i, closed.by_c0[j]);
      }
    });
  } else {
    const auto is_large = less(R(detail::exponential_series_limit), c1);
    const ExponentialDerivatives<R> closed =
        detail::exponential_closed_form(select(is_large, c0, R(0.0)), select(is_large, c1, R(1.0)));
    for (int j = 0; j < 3; ++j) {
      detail::take_where(is_large, r.f[j], closed.f[j]);
      detail::take_where(is_large, r.by_c1[j], closed.by_c1[j]);
      detail::take_where(is_large, r.by_c0[j], closed.by_c0[j]);
    }
  }
  return r;
}

/// Returns f0 + f1 Q + f2 Q^2; 108 flop.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> polynomial(const Complex<R> (&f)[3], const HermitianMatrix<R>& Q,
                                          const HermitianMatrix<R>& square) {
  ColorMatrix<R> U;
  unroll<Nc * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
    constexpr int i = n / Nc, j = n % Nc;
    if constexpr (i == j) {
      U.e[i][i] = detail::real_mul_add(Q.diagonal[i], f[1], f[0]);
      U.e[i][i] = detail::real_mul_add(square.diagonal[i], f[2], U.e[i][i]);
    } else {
      U.e[i][j] = f[1] * Q.template element<i, j>();
      mul_add(U.e[i][j], f[2], square.template element<i, j>());
    }
  });
  return U;
}

/// A matrix takes so many flop by the series: the terms are those of Q^2, the invariants, the coefficients
/// and the polynomial.
inline constexpr double exponential_flops = 51 + 3 + 27 + 7 * (detail::exponential_terms - 2) + 108;

/// Returns exp(A).
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> exponential(const AntihermitianMatrix<R>& A) {
  const HermitianMatrix<R> Q = hermitian(A), Q2 = square(Q);
  const R c0 = determinant(Q), c1 = half_trace(Q2);
  const auto s = detail::exponential_series<false>(c0, c1);
  Complex<R> f[3] = {s.g0, detail::times_i(s.g1), -s.g2};
  if (detail::is_any_large(c1)) {
    if constexpr (detail::is_single<R>) {
      detail::for_each_large_lane(c0, c1, [&](int i, double d0, double d1) {
        const ExponentialCoefficients<double> closed = exponential_coefficients(d0, d1);
        for (int j = 0; j < 3; ++j) detail::set_complex_lane(f[j], i, closed.f[j]);
      });
    } else {
      const auto is_large = less(R(detail::exponential_series_limit), c1);
      const ExponentialCoefficients<R> closed =
          exponential_coefficients(select(is_large, c0, R(0.0)), select(is_large, c1, R(1.0)));
      for (int j = 0; j < 3; ++j) detail::take_where(is_large, f[j], closed.f[j]);
    }
  }
  return polynomial(f, Q, Q2);
}
/// Returns exp(X) of X traceless and anti-hermitian.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> exponential(const ColorMatrix<R>& X) {
  return exponential(antihermitian(X));
}

}  // namespace trellis
