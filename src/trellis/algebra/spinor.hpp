#pragma once
/// Spinors and the Euclidean gamma matrices in the DeGrand-Rossi basis (doc/conventions.md), which is chiral:
/// gamma5 = gamma_x gamma_y gamma_z gamma_t = diag(1, 1, -1, -1). The kernels use this basis as the files do.
#include "trellis/algebra/color.hpp"

namespace trellis {

inline constexpr int Ns = 4;

template <class R>
struct Spinor {
  ColorVector<R> s[Ns];
};

template <class R>
struct HalfSpinor {
  ColorVector<R> s[2];
};

/// a + sign b and a + i sign b, with sign = +1 or -1 at run time (exact, and as cheap as a sum).
template <class R>
TRELLIS_SITE_FN Complex<R> add_signed(const Complex<R>& a, const R& sign, const Complex<R>& b) {
  return {fma(sign, b.re, a.re), fma(sign, b.im, a.im)};
}
template <class R>
TRELLIS_SITE_FN Complex<R> add_signed_i(const Complex<R>& a, const R& sign, const Complex<R>& b) {
  return {fnma(sign, b.im, a.re), fma(sign, b.re, a.im)};
}

/// The upper two spin components of (1 + sign gamma_mu) psi; 12 flop.
template <int mu, class R>
TRELLIS_SITE_FN HalfSpinor<R> project(const Spinor<R>& psi, const R& sign) {
  HalfSpinor<R> h;
  const R opposite = -sign;
  for (int c = 0; c < Nc; ++c) {
    if constexpr (mu == 0) {
      h.s[0].c[c] = add_signed_i(psi.s[0].c[c], sign, psi.s[3].c[c]);
      h.s[1].c[c] = add_signed_i(psi.s[1].c[c], sign, psi.s[2].c[c]);
    } else if constexpr (mu == 1) {
      h.s[0].c[c] = add_signed(psi.s[0].c[c], opposite, psi.s[3].c[c]);
      h.s[1].c[c] = add_signed(psi.s[1].c[c], sign, psi.s[2].c[c]);
    } else if constexpr (mu == 2) {
      h.s[0].c[c] = add_signed_i(psi.s[0].c[c], sign, psi.s[2].c[c]);
      h.s[1].c[c] = add_signed_i(psi.s[1].c[c], opposite, psi.s[3].c[c]);
    } else {
      h.s[0].c[c] = add_signed(psi.s[0].c[c], sign, psi.s[2].c[c]);
      h.s[1].c[c] = add_signed(psi.s[1].c[c], sign, psi.s[3].c[c]);
    }
  }
  return h;
}

/// sum += the spinor whose projection (1 + sign gamma_mu) has the upper components h; 24 flop.
template <int mu, class R>
TRELLIS_SITE_FN void add_reconstructed(Spinor<R>& sum, const HalfSpinor<R>& h, const R& sign) {
  const R opposite = -sign;
  for (int c = 0; c < Nc; ++c) {
    sum.s[0].c[c] = sum.s[0].c[c] + h.s[0].c[c];
    sum.s[1].c[c] = sum.s[1].c[c] + h.s[1].c[c];
    if constexpr (mu == 0) {
      sum.s[2].c[c] = add_signed_i(sum.s[2].c[c], opposite, h.s[1].c[c]);
      sum.s[3].c[c] = add_signed_i(sum.s[3].c[c], opposite, h.s[0].c[c]);
    } else if constexpr (mu == 1) {
      sum.s[2].c[c] = add_signed(sum.s[2].c[c], sign, h.s[1].c[c]);
      sum.s[3].c[c] = add_signed(sum.s[3].c[c], opposite, h.s[0].c[c]);
    } else if constexpr (mu == 2) {
      sum.s[2].c[c] = add_signed_i(sum.s[2].c[c], opposite, h.s[0].c[c]);
      sum.s[3].c[c] = add_signed_i(sum.s[3].c[c], sign, h.s[1].c[c]);
    } else {
      sum.s[2].c[c] = add_signed(sum.s[2].c[c], sign, h.s[0].c[c]);
      sum.s[3].c[c] = add_signed(sum.s[3].c[c], sign, h.s[1].c[c]);
    }
  }
}

template <class R>
TRELLIS_SITE_FN HalfSpinor<R> operator*(const ColorMatrix<R>& U, const HalfSpinor<R>& h) {
  return {{U * h.s[0], U * h.s[1]}};
}
template <class R>
TRELLIS_SITE_FN HalfSpinor<R> dagger_mul(const ColorMatrix<R>& U, const HalfSpinor<R>& h) {
  return {{dagger_mul(U, h.s[0]), dagger_mul(U, h.s[1])}};
}

}  // namespace trellis
