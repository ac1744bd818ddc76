#pragma once
/// Spinors and the Euclidean gamma matrices have the DeGrand-Rossi basis (doc/conventions.md), which is
/// chiral: gamma5 = gamma_x gamma_y gamma_z gamma_t = diag(1, 1, -1, -1). The kernels use this basis as the
/// files do.
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

/// Returns a + sign b and a + i sign b, with sign = +1 or -1 at run time (exact, and as cheap as a sum).
template <class R>
TRELLIS_SITE_FN Complex<R> add_signed(const Complex<R>& a, const R& sign, const Complex<R>& b) {
  return {fma(sign, b.re, a.re), fma(sign, b.im, a.im)};
}
template <class R>
TRELLIS_SITE_FN Complex<R> add_signed_i(const Complex<R>& a, const R& sign, const Complex<R>& b) {
  return {fnma(sign, b.im, a.re), fma(sign, b.re, a.im)};
}

/// One colour has four spin components, and two after projection.
template <class R>
struct SpinColumn {
  Complex<R> s[Ns];
};
template <class R>
struct HalfColumn {
  Complex<R> s[2];
};

/// Returns the upper two spin components of (1 + sign gamma_mu) psi for one colour; 4 flop.
template <int mu, class R>
TRELLIS_SITE_FN HalfColumn<R> project(const SpinColumn<R>& psi, const R& sign, const R& opposite) {
  if constexpr (mu == 0)
    return {{add_signed_i(psi.s[0], sign, psi.s[3]), add_signed_i(psi.s[1], sign, psi.s[2])}};
  else if constexpr (mu == 1)
    return {{add_signed(psi.s[0], opposite, psi.s[3]), add_signed(psi.s[1], sign, psi.s[2])}};
  else if constexpr (mu == 2)
    return {{add_signed_i(psi.s[0], sign, psi.s[2]), add_signed_i(psi.s[1], opposite, psi.s[3])}};
  else
    return {{add_signed(psi.s[0], sign, psi.s[2]), add_signed(psi.s[1], sign, psi.s[3])}};
}

/// Returns the upper two spin components of (1 + sign gamma_mu) psi; 12 flop.
template <int mu, class R>
TRELLIS_SITE_FN HalfSpinor<R> project(const Spinor<R>& psi, const R& sign) {
  HalfSpinor<R> h;
  const R opposite = -sign;
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    const SpinColumn<R> column = {{psi.s[0].c[c], psi.s[1].c[c], psi.s[2].c[c], psi.s[3].c[c]}};
    const HalfColumn<R> p = project<mu>(column, sign, opposite);
    h.s[0].c[c] = p.s[0];
    h.s[1].c[c] = p.s[1];
  });
  return h;
}

/// Adds to sum the spinor whose projection (1 + sign gamma_mu) has the upper components h; 24 flop.
template <int mu, class R>
TRELLIS_SITE_FN void add_reconstructed(Spinor<R>& sum, const HalfSpinor<R>& h, const R& sign) {
  const R opposite = -sign;
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
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
  });
}

/// Returns a (1, sign) with sign = +1 or -1, and i sign a.
template <class R>
TRELLIS_SITE_FN Complex<R> signed_copy(const R& sign, const Complex<R>& a) {
  return {sign * a.re, sign * a.im};
}
template <class R>
TRELLIS_SITE_FN Complex<R> signed_i_copy(const R& sign, const R& opposite, const Complex<R>& a) {
  return {opposite * a.im, sign * a.re};
}

/// Sets sum to the spinor whose projection (1 + sign gamma_mu) has the upper components h.
template <int mu, class R>
TRELLIS_SITE_FN void set_reconstructed(Spinor<R>& sum, const HalfSpinor<R>& h, const R& sign) {
  const R opposite = -sign;
  sum.s[0] = h.s[0];
  sum.s[1] = h.s[1];
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    if constexpr (mu == 0) {
      sum.s[2].c[c] = signed_i_copy(opposite, sign, h.s[1].c[c]);
      sum.s[3].c[c] = signed_i_copy(opposite, sign, h.s[0].c[c]);
    } else if constexpr (mu == 1) {
      sum.s[2].c[c] = signed_copy(sign, h.s[1].c[c]);
      sum.s[3].c[c] = signed_copy(opposite, h.s[0].c[c]);
    } else if constexpr (mu == 2) {
      sum.s[2].c[c] = signed_i_copy(opposite, sign, h.s[0].c[c]);
      sum.s[3].c[c] = signed_i_copy(sign, opposite, h.s[1].c[c]);
    } else {
      sum.s[2].c[c] = signed_copy(sign, h.s[0].c[c]);
      sum.s[3].c[c] = signed_copy(sign, h.s[1].c[c]);
    }
  });
}

/// Returns U h; the link comes as a source of rows (row<i>()), so that only one is in registers at a time;
/// 132 flop.
template <class R, class Rows>
TRELLIS_SITE_FN HalfSpinor<R> multiply(Rows U, const HalfSpinor<R>& h) {
  HalfSpinor<R> r;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    const ColorRow<R> row = U.template row<i>();
    r.s[0].c[i] = row * h.s[0];
    r.s[1].c[i] = row * h.s[1];
  });
  return r;
}

/// Returns U^dagger h, with the colours of h from column(j) in the order of the rows of U; 132 flop.
template <class R, class Rows, class Columns>
TRELLIS_SITE_FN HalfSpinor<R> dagger_multiply(Rows U, const Columns& column) {
  HalfSpinor<R> r;
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    const ColorRow<R> row = U.template row<j>();
    const HalfColumn<R> h = column(j);
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
      if constexpr (j == 0) {
        r.s[0].c[i] = conj_mul(row.c[i], h.s[0]);
        r.s[1].c[i] = conj_mul(row.c[i], h.s[1]);
      } else {
        conj_mul_add(r.s[0].c[i], row.c[i], h.s[0]);
        conj_mul_add(r.s[1].c[i], row.c[i], h.s[1]);
      }
    });
  });
  return r;
}

}  // namespace trellis
