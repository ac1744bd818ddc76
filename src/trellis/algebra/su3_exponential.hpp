#pragma once
/// exp(i Q) = f0 + f1 Q + f2 Q^2 of a traceless hermitian 3x3 matrix Q, with the derivatives of the f by
///
///   c1 = tr Q^2 / 2  and  c0 = det Q = tr Q^3 / 3,    d c1 = tr(Q dQ),  d c0 = tr(Q^2 dQ),
///
/// which the derivative of the exponential needs: C. Morningstar and M. Peardon, Phys. Rev. D69 (2004)
/// 054501, eqs. 20-33 and 57-68 (b1_j = df_j/dc1, b2_j = df_j/dc0).
#include "trellis/algebra/su3.hpp"

namespace trellis {

template <class R>
struct ExponentialDerivatives {
  Complex<R> f[3], by_c1[3], by_c0[3];
};

namespace detail {

template <class R>
TRELLIS_SITE_FN Complex<R> times_i(const Complex<R>& z) {
  return {-z.im, z.re};
}
/// s z + w with a real s
template <class R>
TRELLIS_SITE_FN Complex<R> real_mul_add(const R& s, const Complex<R>& z, const Complex<R>& w) {
  return {fma(s, z.re, w.re), fma(s, z.im, w.im)};
}

inline constexpr int exponential_terms = 22;
/// The series is taken below this c1, where |Q| is at most 1.64 and the first term left out 3e-17.
inline constexpr double exponential_series_limit = 2.0;

/// 1 / n!
struct InverseFactorials {
  double value[exponential_terms + 1];
};
TRELLIS_SITE_FN constexpr InverseFactorials inverse_factorials() {
  InverseFactorials r{{1.0}};
  for (int n = 1; n <= exponential_terms; ++n) r.value[n] = r.value[n - 1] / n;
  return r;
}

/// Horner's rule for sum (iQ)^n / n! with Q^3 = c1 Q + c0, and its derivatives d by c1 and e by c0; about 30
/// flop a term. It has no cancellation near Q = 0, where the closed form divides by c1^2. The nine numbers
/// are variables and no arrays: they stay in registers.
template <class R>
TRELLIS_SITE_FN ExponentialDerivatives<R> exponential_series(const R& c0, const R& c1) {
  constexpr InverseFactorials inverse_factorial = inverse_factorials();
  const Complex<R> zero = {R(0.0), R(0.0)};
  Complex<R> f0 = {R(inverse_factorial.value[exponential_terms]), R(0.0)}, f1 = zero, f2 = zero;
  Complex<R> d0 = zero, d1 = zero, d2 = zero, e0 = zero, e1 = zero, e2 = zero;
  for (int n = exponential_terms - 1; n >= 0; --n) {
    const Complex<R> next_d1 = times_i(real_mul_add(c1, d2, d0 + f2));
    d0 = times_i(c0 * d2);
    d2 = times_i(d1);
    d1 = next_d1;
    const Complex<R> next_e1 = times_i(real_mul_add(c1, e2, e0));
    e0 = times_i(real_mul_add(c0, e2, f2));
    e2 = times_i(e1);
    e1 = next_e1;
    const Complex<R> next_f1 = times_i(real_mul_add(c1, f2, f0));
    f0 = times_i(c0 * f2);
    f0.re = f0.re + R(inverse_factorial.value[n]);
    f2 = times_i(f1);
    f1 = next_f1;
  }
  return {{f0, f1, f2}, {d0, d1, d2}, {e0, e1, e2}};
}

/// Eqs. 60-66, with the signs of eq. 68 for c0 < 0. @pre c1 is not small
template <class R>
TRELLIS_SITE_FN ExponentialDerivatives<R> exponential_closed_form(const R& c0, const R& c1) {
  const ExponentialCoefficients<R> k = exponential_coefficients(c0, c1);
  const R u = k.u, w = k.w, xi0 = k.xi0, uu = u * u, ww = w * w;
  const SinCos<R> su = sin_cos(u), sw = sin_cos(w);
  const R cosine = sw.cos;
  // xi1 = cos w / w^2 - sin w / w^3, by its series near 0
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
    // f_j for |c0|
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

}  // namespace detail

/// Each lane by the series or, above its limit, by the closed form: a lane's bits do not depend on the
/// others.
template <class R>
TRELLIS_SITE_FN ExponentialDerivatives<R> exponential_derivatives(const R& c0, const R& c1) {
  ExponentialDerivatives<R> r = detail::exponential_series(c0, c1);
  const auto is_large = less(R(detail::exponential_series_limit), c1);
  if (any(is_large)) {
    const ExponentialDerivatives<R> closed =
        detail::exponential_closed_form(select(is_large, c0, R(0.0)), select(is_large, c1, R(1.0)));
    auto take = [&](Complex<R>& to, const Complex<R>& from) {
      to = {select(is_large, from.re, to.re), select(is_large, from.im, to.im)};
    };
    for (int j = 0; j < 3; ++j) {
      take(r.f[j], closed.f[j]);
      take(r.by_c1[j], closed.by_c1[j]);
      take(r.by_c0[j], closed.by_c0[j]);
    }
  }
  return r;
}

}  // namespace trellis
