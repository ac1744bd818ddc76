#pragma once
/// Complex<R> splits the real and imaginary parts of any kernel arithmetic type. Every product is written
/// with explicit fma, so the rounding is the same for every lane count and backend.
#include "trellis/algebra/lanes.hpp"

namespace trellis {

template <class R>
struct Complex {
  R re, im;
};

template <class R>
TRELLIS_SITE_FN Complex<R> operator+(const Complex<R>& a, const Complex<R>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
TRELLIS_SITE_FN Complex<R> operator-(const Complex<R>& a, const Complex<R>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
TRELLIS_SITE_FN Complex<R> operator-(const Complex<R>& a) {
  return {-a.re, -a.im};
}
template <class R>
TRELLIS_SITE_FN Complex<R> operator*(const R& s, const Complex<R>& a) {
  return {s * a.re, s * a.im};
}
template <class R>
TRELLIS_SITE_FN Complex<R> conj(const Complex<R>& a) {
  return {a.re, -a.im};
}
/// Returns a b = (ar br - ai bi) + i (ar bi + ai br).
template <class R>
TRELLIS_SITE_FN Complex<R> operator*(const Complex<R>& a, const Complex<R>& b) {
  return {fnma(a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
}
/// Returns conj(a) b.
template <class R>
TRELLIS_SITE_FN Complex<R> conj_mul(const Complex<R>& a, const Complex<R>& b) {
  return {fma(a.im, b.im, a.re * b.re), fnma(a.im, b.re, a.re * b.im)};
}
/// Adds a b to sum.
template <class R>
TRELLIS_SITE_FN void mul_add(Complex<R>& sum, const Complex<R>& a, const Complex<R>& b) {
  sum.re = fnma(a.im, b.im, fma(a.re, b.re, sum.re));
  sum.im = fma(a.im, b.re, fma(a.re, b.im, sum.im));
}
/// Adds conj(a) b to sum.
template <class R>
TRELLIS_SITE_FN void conj_mul_add(Complex<R>& sum, const Complex<R>& a, const Complex<R>& b) {
  sum.re = fma(a.im, b.im, fma(a.re, b.re, sum.re));
  sum.im = fnma(a.im, b.re, fma(a.re, b.im, sum.im));
}
/// Returns |a|^2.
template <class R>
TRELLIS_SITE_FN R norm2(const Complex<R>& a) {
  return fma(a.im, a.im, a.re * a.re);
}

}  // namespace trellis
