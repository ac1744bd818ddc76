#pragma once
/// A link of 8 reals is a traceless hermitian matrix q with U = exp(i r q), r = eight_real_range. The reals
/// q_00, q_11, and re, im of q_01, q_02, q_12 are stored, all within [-1, 1]: eigenphases of U that add up to
/// 0 lie within 4 pi / 3. Unlike forms that divide by parts of a row this one has no singular links: an error
/// e of q is an error of at most r e of U. Measured on links with Haar's measure, the largest error of a
/// component is 6e-15 in double, 7e-7 in float and 1.3e-4 in 16 bit.
///
/// The exponential is f0 + f1 Q + f2 Q^2, by Horner's rule for the series with Q^3 = c1 Q + c0, c1 = tr Q^2 /
/// 2, c0 = det Q. It takes about 300 flop a link (float: 230), which are not counted as the operator's.
#include "trellis/view/integer_products.hpp"

namespace trellis {

inline constexpr double eight_real_range = 4.2;

/// Writes what is stored of U = exp(iQ); LinkRows<Array, 8> reads it. @param Q is traceless and hermitian
TRELLIS_SITE_FN void write_eight_reals(const ColorMatrix<double>& Q, double* out) {
  const double reals[8] = {Q.e[0][0].re, Q.e[1][1].re, Q.e[0][1].re, Q.e[0][1].im,
                           Q.e[0][2].re, Q.e[0][2].im, Q.e[1][2].re, Q.e[1][2].im};
  for (int i = 0; i < 8; ++i) out[i] = reals[i] / eight_real_range;
}

namespace detail {
/// The series has so many terms: |Q|^n / n! at |Q| = 4 pi / 3 is below 1e-16 (double), 1e-8 (float).
template <class Scalar>
inline constexpr int eight_real_terms = sizeof(Scalar) == 8 ? 33 : 23;

constexpr double inverse_factorial(int n) { return n < 2 ? 1.0 : inverse_factorial(n - 1) / n; }

/// This computes f0, f1, f2 of exp(iQ).
template <class R, class Scalar>
struct ExponentialSeries {
  Complex<R> f0, f1, f2;

  TRELLIS_SITE_FN ExponentialSeries(const R& c0, const R& c1) {
    constexpr int terms = eight_real_terms<Scalar>;
    f0 = {R(Scalar(inverse_factorial(terms))), R(Scalar(0))};
    f1 = f2 = {R(Scalar(0)), R(Scalar(0))};
    unroll<terms>([&](auto i) TRELLIS_INLINE_LAMBDA {
      constexpr Scalar factor = Scalar(inverse_factorial(terms - 1 - i));
      const Complex<R> a = f0, b = f1, c = f2;
      f0 = {fnma(c0, c.im, R(factor)), c0 * c.re};
      f1 = {-fma(c1, c.im, a.im), fma(c1, c.re, a.re)};
      f2 = {-b.im, b.re};
    });
  }
};
}  // namespace detail

template <class R>
struct Reals8 {
  R r[8];
};

template <class Array>
class LinkRows<Array, 8> {
 public:
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;

  TRELLIS_SITE_FN LinkRows(const Array& array, int block, int mu) : LinkRows{load(array, block, mu)} {}
  /// Links in fixed point come as multiples of 1/32768, like the other ones (structured.hpp).
  TRELLIS_SITE_FN explicit LinkRows(const Reals8<Real>& q) {
    const Real r(Scalar{eight_real_range});
    diagonal_[0] = r * q.r[0];
    diagonal_[1] = r * q.r[1];
    diagonal_[2] = -(diagonal_[0] + diagonal_[1]);
    for (int k = 0; k < 3; ++k) q_[k] = {r * q.r[2 + 2 * k], r * q.r[3 + 2 * k]};
    const Real n01 = norm2(q_[0]), n02 = norm2(q_[1]), n12 = norm2(q_[2]);
    square_diagonal_[0] = fma(diagonal_[0], diagonal_[0], n01 + n02);
    square_diagonal_[1] = fma(diagonal_[1], diagonal_[1], n01 + n12);
    square_diagonal_[2] = fma(diagonal_[2], diagonal_[2], n02 + n12);
    // (Q^2)_01 = -q_22 q_01 + q_02 conj(q_12), and so on: q_00 + q_11 = -q_22
    square_[0] = offdiagonal(diagonal_[2], q_[0], conj_mul(q_[2], q_[1]));
    square_[1] = offdiagonal(diagonal_[1], q_[1], q_[0] * q_[2]);
    square_[2] = offdiagonal(diagonal_[0], q_[2], conj_mul(q_[0], q_[1]));
    const Real c1 = Real(Scalar(0.5)) * (square_diagonal_[0] + square_diagonal_[1] + square_diagonal_[2]);
    // det Q = q00 q11 q22 + 2 re(q01 q12 conj(q02)) - q00 |q12|^2 - q11 |q02|^2 - q22 |q01|^2
    const Complex<Real> path = q_[0] * q_[2];
    const Real twice = Real(Scalar(2)) * fma(path.re, q_[1].re, path.im * q_[1].im);
    Real c0 = fma(diagonal_[0] * diagonal_[1], diagonal_[2], twice);
    c0 = fnma(diagonal_[0], n12, c0);
    c0 = fnma(diagonal_[1], n02, c0);
    c0 = fnma(diagonal_[2], n01, c0);
    const detail::ExponentialSeries<Real, Scalar> series(c0, c1);
    const Real unit(Scalar(Array::is_half ? link_full_scale : 1));
    f0_ = unit * series.f0;
    f1_ = unit * series.f1;
    f2_ = unit * series.f2;
  }

  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> row() const {
    ColorRow<Real> u;
    unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
      if constexpr (i == j) {
        u.c[j] = {fma(f2_.re, square_diagonal_[i], fma(f1_.re, diagonal_[i], f0_.re)),
                  fma(f2_.im, square_diagonal_[i], fma(f1_.im, diagonal_[i], f0_.im))};
      } else {
        constexpr int k = i + j - 1;  // 01, 02, 12
        Complex<Real> q = q_[k], s = square_[k];
        if constexpr (i > j) {
          q.im = -q.im;
          s.im = -s.im;
        }
        u.c[j] = f1_ * q + f2_ * s;
      }
    });
    return u;
  }

 private:
  TRELLIS_SITE_FN static Reals8<Real> load(const Array& array, int block, int mu) {
    Reals8<Real> q;
    array.template load<Access::constant>(block, mu, q.r);
    return q;
  }
  /// Returns z - third q.
  TRELLIS_SITE_FN static Complex<Real> offdiagonal(const Real& third, const Complex<Real>& q,
                                                   const Complex<Real>& z) {
    return {fnma(third, q.re, z.re), fnma(third, q.im, z.im)};
  }
  Real diagonal_[3], square_diagonal_[3];
  Complex<Real> q_[3], square_[3];  // 01, 02, 12 of Q and Q^2
  Complex<Real> f0_, f1_, f2_;
};

template <class Array>
class IntegerRows<Array, 8> {
 public:
  using Real = typename Array::Real;
  using Pair = typename Array::Pair;
  TRELLIS_SITE_FN IntegerRows(const Array& array, int block, int mu) : rows_{array, block, mu} {}
  template <int i>
  TRELLIS_SITE_FN ColorPairs<Pair> row() const {
    const ColorRow<Real> row = rows_.template row<i>();
    ColorPairs<Pair> r;
    unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
      r.c[j] = pack_saturated(nearest_integer(row.c[j].re), nearest_integer(row.c[j].im));
    });
    return r;
  }
  TRELLIS_SITE_FN Real unit() const { return Real(1.0f / link_full_scale); }

 private:
  LinkRows<Array, 8> rows_;
};

}  // namespace trellis
