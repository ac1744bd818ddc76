#pragma once
/// Trellis has its own log, exp, sin and cos in double, on scalars and Lanes: the operations are the same for
/// every lane count, hence the bits, whatever the machine's libm. Errors are below 2 ulp
/// (tests/unit/test_lane_math.cpp). Series are those of Taylor, long enough for the reduced ranges;
/// reductions follow Cody and Waite (1980).
#include "trellis/algebra/lane_functions.hpp"
#include "trellis/algebra/lane_integers.hpp"

namespace trellis {

/// Returns the nearest integer, with ties to even. @pre |x| < 2^51
template <class R>
TRELLIS_SITE_FN R nearest_integer(const R& x) {
  const R magic(0x1.8p52);
  return (x + magic) - magic;
}

/// Returns 2^n for integer n in [-1022, 1023].
template <class R>
TRELLIS_SITE_FN R power_of_two(const R& n) {
  using I = LaneInteger<R>;
  const I biased = bits_of(n + R(0x1.8p52 + 1023.0));  // the low bits of the mantissa are n + 1023
  return real_from_bits(shift_left(biased & I(0x7ff), 52));
}

/// These are the flop of logarithm() and of sin_cos_2pi(): comparisons and selections are not counted.
inline constexpr double logarithm_flops = 40, sin_cos_flops = 56;

namespace detail {
/// Returns sum_k c[k] x^k by Horner's rule.
template <class R, int N>
TRELLIS_SITE_FN R polynomial(const R& x, const double (&c)[N]) {
  R sum(c[N - 1]);
  for (int k = N - 2; k >= 0; --k) sum = fma(sum, x, R(c[k]));
  return sum;
}

inline constexpr double ln2_high = 0x1.62e42fefa3800p-1;  // 42 bits: n ln2_high is exact for |n| < 2^11
inline constexpr double ln2_low = 0x1.ef35793c76730p-45;

}  // namespace detail

/// Returns e^x, which is 0 below -708 (no subnormal results) and infinity above 709.
template <class R>
TRELLIS_SITE_FN R exponential(const R& x) {
  constexpr double exp_terms[] = {1.0 / 2,         1.0 / 6,          1.0 / 24,
                                  1.0 / 120,       1.0 / 720,        1.0 / 5040,
                                  1.0 / 40320,     1.0 / 362880,     1.0 / 3628800.,
                                  1.0 / 39916800., 1.0 / 479001600., 1.0 / 6227020800.};  // 1/2!, 1/3!, ...
  const R bounded = select(less(x, R(-708.0)), R(-708.0), select(less(R(709.0), x), R(709.0), x));
  const R n = nearest_integer(bounded * R(0x1.71547652b82fep0));
  const R high = fnma(n, R(detail::ln2_high), bounded), low = n * R(detail::ln2_low);  // high is exact
  const R r = high - low;                                                              // |r| <= ln 2 / 2
  const R error = (high - r) - low;
  const R tail = fma(r * r, detail::polynomial(r, exp_terms), error);
  const R result = power_of_two(n) * (R(1.0) + (r + tail));
  return select(less(x, R(-708.0)), R(0.0), select(less(R(709.0), x), R(__builtin_inf()), result));
}

/// Returns the natural logarithm: -infinity at 0, NaN below.
/// With x = 2^n (1 + f) and s = f / (2 + f) the series is
/// log(1 + f) = 2 artanh s = f - f^2/2 + s (f^2/2 + 2 s^2/3 + 2 s^4/5 + ...).
template <class R>
TRELLIS_SITE_FN R logarithm(const R& x) {
  constexpr double log_terms[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                  2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};  // 2/3, 2/5, ...
  using I = LaneInteger<R>;
  const auto is_subnormal = less(x, R(0x1p-1022));
  const I bits = bits_of(select(is_subnormal, x * R(0x1p54), x));
  R n = real_from_bits(shift_right(bits, 52) | bits_of(R(0x1p52))) - R(0x1p52 + 1023.0);
  R m = real_from_bits((bits & I(0xfffffffffffffu)) | bits_of(R(1.0)));
  n = n - select(is_subnormal, R(54.0), R(0.0));
  const auto is_upper = less(R(0x1.6a09e667f3bcdp0), m);
  m = select(is_upper, R(0.5) * m, m);
  n = n + select(is_upper, R(1.0), R(0.0));
  const R f = m - R(1.0), s = f / (R(2.0) + f), z = s * s;
  const R half_square = R(0.5) * f * f;
  const R series = z * detail::polynomial(z, log_terms);
  const R small = fma(s, half_square + series, n * R(detail::ln2_low));
  const R result = n * R(detail::ln2_high) - ((half_square - small) - f);
  const R finite = select(less(x, R(__builtin_inf())), result, x);
  return select(less_equal(x, R(0.0)), select(less(x, R(0.0)), R(__builtin_nan("")), R(-__builtin_inf())),
                finite);
}

template <class R>
struct SinCos {
  R sin, cos;
};

namespace detail {
/// Returns sine and cosine of quarter pi/2 + r + error, |r| <= pi/4, |error| < ulp(r).
template <class R>
TRELLIS_SITE_FN SinCos<R> sin_cos_reduced(const R& quarter, const R& r, const R& error) {
  constexpr double sin_terms[] = {-1.0 / 6,
                                  1.0 / 120,
                                  -1.0 / 5040,
                                  1.0 / 362880,
                                  -1.0 / 39916800.,
                                  1.0 / 6227020800.,
                                  -1.0 / 1307674368000.,
                                  1.0 / 355687428096000.};  // -1/3!, 1/5!, ...
  constexpr double cos_terms[] = {
      1.0 / 24,         -1.0 / 720,          1.0 / 40320,          -1.0 / 3628800.,
      1.0 / 479001600., -1.0 / 87178291200., 1.0 / 20922789888000.};  // 1/4!, -1/6!, ...
  const R z = r * r;
  const R sine = r + fma(r * z, polynomial(z, sin_terms), error);
  const R half = R(0.5) * z, above = R(1.0) - half;
  const R cosine = above + (((R(1.0) - above) - half) + fnma(r, error, z * z * polynomial(z, cos_terms)));
  const R q = fnma(R(4.0), nearest_integer(quarter * R(0.25)), quarter);  // -2..2
  const auto is_odd = mask_and(less(R(0.5), absolute(q)), less(absolute(q), R(1.5)));
  const auto is_half_turn = less(R(1.5), absolute(q));
  const auto sine_flips = mask_or(is_half_turn, mask_and(is_odd, less(q, R(0.0))));
  const auto cosine_flips = mask_or(is_half_turn, mask_and(is_odd, less(R(0.0), q)));
  const R first = select(is_odd, cosine, sine), second = select(is_odd, sine, cosine);
  return {select(sine_flips, -first, first), select(cosine_flips, -second, second)};
}
}  // namespace detail

/// Returns sin x and cos x. @pre |x| < 2^20 (else the error grows; infinity gives NaN)
template <class R>
TRELLIS_SITE_FN SinCos<R> sin_cos(const R& x) {
  const R n = nearest_integer(x * R(0x1.45f306dc9c883p-1));
  // pi/2 = p1 + p2 + p3, 53 bits each; x - n p1 is exact where it cancels
  const R r1 = fnma(n, R(0x1.921fb54442d18p0), x);
  const R p2(0x1.1a62633145c07p-54), product = n * p2, product_error = fma(n, p2, -product);
  const R r2 = r1 - product, part = r2 - r1;
  const R lost = (r1 - (r2 - part)) - (product + part);  // r1 - product = r2 + lost (Knuth)
  const R error = fnma(n, R(-0x1.f1976b7ed8fbcp-110), lost - product_error);
  return detail::sin_cos_reduced(n, r2, error);
}

/// Returns sin(2 pi u) and cos(2 pi u): the reduction is exact. @pre |u| < 2^20
template <class R>
TRELLIS_SITE_FN SinCos<R> sin_cos_2pi(const R& u) {
  const R n = nearest_integer(R(4.0) * u);
  const R t = fnma(R(0.25), n, u);  // exact
  const R r = t * R(0x1.921fb54442d18p2);
  const R error = fma(t, R(0x1.1a62633145c07p-52), fma(t, R(0x1.921fb54442d18p2), -r));
  return detail::sin_cos_reduced(n, r, error);
}

/// Returns the smaller of two, and b where a is NaN.
template <class R>
TRELLIS_SITE_FN R smaller_of(const R& a, const R& b) {
  return select(less(a, b), a, b);
}

}  // namespace trellis
