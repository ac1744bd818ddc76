#pragma once
/// Links times colour vectors, one leg of a staggered hop: what the hop and the packing of its halo share, so
/// that both round alike. S right-hand sides share each row of the link.
#include "trellis/view/integer_products.hpp"

namespace trellis {

/// A U(3) link of 14 reals, row by row: two rows, and the determinant d; the third row is d conj(a x b).
template <class Array>
class UnitaryRows {
 public:
  using Real = typename Array::Real;
  TRELLIS_SITE_FN UnitaryRows(const Array& array, int block, int mu)
      : array_{array}, block_{block}, mu_{mu} {}

  /// Rows are asked for in the order 0, 1, 2.
  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> row() {
    if constexpr (i == 0) return first_ = ColorRow<Real>{{number<0>(), number<1>(), number<2>()}};
    if constexpr (i == 1) return second_ = ColorRow<Real>{{number<3>(), number<4>(), number<5>()}};
    ColorRow<Real> third = third_row(first_, second_);
    const Complex<Real> d = number<6>();
    unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA { third.c[j] = d * third.c[j]; });
    return third;
  }

 private:
  template <int k>
  TRELLIS_SITE_FN Complex<Real> number() const {
    return {array_.component(block_, mu_, 2 * k, Real(1)), array_.component(block_, mu_, 2 * k + 1, Real(1))};
  }
  const Array& array_;
  int block_, mu_;
  ColorRow<Real> first_, second_;
};

/// Links of N = 18, 12 (SU(3)) or 14 (U(3)) reals as rows.
template <class Layout, class Storage, int N>
class HopLinkView {
 public:
  using Array = SiteArray<Layout, Storage, N>;
  HopLinkView() = default;
  explicit HopLinkView(const RawField& raw) : array_{raw} {}
  TRELLIS_SITE_FN auto rows(int block, int mu) const {
    if constexpr (Array::is_half)
      return IntegerRows<Array, N>(array_, block, mu);
    else if constexpr (N == 14)
      return UnitaryRows<Array>(array_, block, mu);
    else
      return LinkRows<Array, N>(array_, block, mu);
  }
  TRELLIS_SITE_FN const Array& array() const { return array_; }

 private:
  Array array_;
};
/// No links: for hops without a second distance.
template <class Layout, class Storage>
class HopLinkView<Layout, Storage, 0> {
 public:
  HopLinkView() = default;
  explicit HopLinkView(const RawField&) {}
};

/// psi(y) as products with links take it: a ColorVector, or an IntegerVector in fixed point.
template <class Layout, class Storage>
TRELLIS_SITE_FN auto link_ready(const ColorVectorView<Layout, Storage>& in, int block, int slot) {
  if constexpr (ColorVectorView<Layout, Storage>::Array::is_half)
    return integer_vector(in, block, slot);
  else
    return in.load(block, slot);
}

/// It goes through ghosts as the six reals of a vector; fixed point as three pairs and the unit.
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

/// h_s = U^dagger v_s; 66 flop each.
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
