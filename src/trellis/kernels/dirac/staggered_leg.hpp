#pragma once
/// Links times colour vectors are one leg of a staggered hop. The hop and the packing of its halo share this,
/// so that both round alike. S right-hand sides share each row of the link.
#include "trellis/view/hop_link_view.hpp"

namespace trellis {

/// Returns psi(y) as products with links take it: a ColorVector, or an IntegerVector in fixed point.
template <class Layout, class Storage>
TRELLIS_SITE_FN auto link_ready(const ColorVectorView<Layout, Storage>& in, int block, int slot) {
  if constexpr (ColorVectorView<Layout, Storage>::Array::is_half)
    return integer_vector(in, block, slot);
  else
    return in.template load<Access::constant>(block, slot);
}

/// A vector goes through ghosts as six reals; in fixed point it goes as three pairs and the unit.
template <class R>
TRELLIS_SITE_FN const ColorVector<R>& to_ghost(const ColorVector<R>& v) {
  return v;
}
template <class R, class Pair>
TRELLIS_SITE_FN ColorVector<R> to_ghost(const IntegerVector<R, Pair>& v) {
  return {{{bits_as_float(v.v.c[0]), bits_as_float(v.v.c[1])},
           {bits_as_float(v.v.c[2]), v.unit},
           {v.unit, v.unit}}};
}
template <class R>
TRELLIS_SITE_FN void from_ghost(ColorVector<R>& v, const ColorVector<R>& ghost) {
  v = ghost;
}
template <class R, class Pair>
TRELLIS_SITE_FN void from_ghost(IntegerVector<R, Pair>& v, const ColorVector<R>& ghost) {
  v = {{float_as_bits(ghost.c[0].re), float_as_bits(ghost.c[0].im), float_as_bits(ghost.c[1].re)},
       ghost.c[1].im};
}

/// Computes h_s = U^dagger v_s, 66 flop each.
template <int S, class R, class Rows>
TRELLIS_SITE_FN void rows_dagger_multiply(ColorVector<R> (&h)[S], Rows U, const ColorVector<R> (&v)[S]) {
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    const ColorRow<R> row = U.template row<j>();
    unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
      unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
        if constexpr (j == 0)
          h[s].c[i] = conj_mul(row.c[i], v[s].c[j]);
        else
          conj_mul_add(h[s].c[i], row.c[i], v[s].c[j]);
      });
    });
  });
}

template <int S, class R, class Pair, class Rows>
TRELLIS_SITE_FN void rows_dagger_multiply(ColorVector<R> (&h)[S], Rows U,
                                          const IntegerVector<R, Pair> (&v)[S]) {
  ComplexSum<Pair> sum[S][Nc];
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    const ColorPairs<Pair> row = U.template row<j>();
    unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
      add_row_dagger<j>(sum[s], row, product_forms<true>(v[s].v.c[j]));
    });
  });
  const R link_unit = U.unit();
  unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
    const R unit = link_unit * v[s].unit;
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA { h[s].c[i] = to_complex(unit, sum[s][i]); });
  });
}

}  // namespace trellis
