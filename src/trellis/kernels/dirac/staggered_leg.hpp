#pragma once
/// Links times colour vectors, one leg of a staggered hop: what the hop and the packing of its halo share, so
/// that both round alike. S right-hand sides share each row of the link.
#include "trellis/view/structured.hpp"

namespace trellis {

/// A U(3) link of 14 reals, row by row: two rows, and the determinant d; the third row is d conj(a x b).
template <class Array>
class UnitaryRows {
 public:
  using Real = typename Array::Real;
  TRELLIS_SITE_FN UnitaryRows(const Array& array, int block, int mu)
      : array_{array}, block_{block}, mu_{mu} {}

  /// Rows are asked for in the order 0, 1, 2; 16-bit links come as multiples of 1/32767.
  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> row() {
    if constexpr (i == 0) return first_ = ColorRow<Real>{{number<0>(), number<1>(), number<2>()}};
    if constexpr (i == 1) return second_ = ColorRow<Real>{{number<3>(), number<4>(), number<5>()}};
    ColorRow<Real> third = third_row(first_, second_);
    Complex<Real> d = number<6>();
    if constexpr (Array::is_half) d = Real(fixed_point_unit * fixed_point_unit) * d;
    unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA { third.c[j] = d * third.c[j]; });
    return third;
  }

 private:
  template <int k>
  TRELLIS_SITE_FN Complex<Real> number() const {
    if constexpr (Array::is_half)
      return {integer_to_float(array_.integer(block_, mu_, 2 * k), static_cast<Real*>(nullptr)),
              integer_to_float(array_.integer(block_, mu_, 2 * k + 1), static_cast<Real*>(nullptr))};
    else
      return {array_.component(block_, mu_, 2 * k, Real(1)),
              array_.component(block_, mu_, 2 * k + 1, Real(1))};
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
    if constexpr (N == 14)
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

/// psi(y) times what the rows of 16-bit links leave out.
template <class Layout, class Storage>
TRELLIS_SITE_FN auto link_ready(const ColorVectorView<Layout, Storage>& in, int block, int slot) {
  using Array = typename ColorVectorView<Layout, Storage>::Array;
  using Real = typename Array::Real;
  const Real unit = Array::is_half ? Real(fixed_point_unit) * in.array().load_unit(block, slot) : Real(1);
  ColorVector<Real> v;
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    if constexpr (Array::is_half) {
      using Integer = typename Array::Integer;
      const Integer re = in.array().integer(block, slot, 2 * c),
                    im = in.array().integer(block, slot, 2 * c + 1);
      v.c[c] = {unit * integer_to_float(re, static_cast<Real*>(nullptr)),
                unit * integer_to_float(im, static_cast<Real*>(nullptr))};
    } else {
      v.c[c] = {in.array().component(block, slot, 2 * c, unit),
                in.array().component(block, slot, 2 * c + 1, unit)};
    }
  });
  return v;
}

/// h_s = U v_s; 66 flop each.
template <int S, class R, class Rows>
TRELLIS_SITE_FN void rows_multiply(ColorVector<R> (&h)[S], Rows U, const ColorVector<R> (&v)[S]) {
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    const ColorRow<R> row = U.template row<i>();
    unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA { h[s].c[i] = row * v[s]; });
  });
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

}  // namespace trellis
