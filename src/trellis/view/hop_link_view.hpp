#pragma once
/// Hops of colour vectors read their links row by row.
#include "trellis/view/ask_ahead.hpp"
#include "trellis/view/integer_products.hpp"

namespace trellis {

/// A U(3) link of 14 reals is read row by row: two rows, and the determinant d, are stored; the third row is
/// d conj(a x b).
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
    return {array_.template component<2 * k>(block_, mu_, Real(1)),
            array_.template component<2 * k + 1>(block_, mu_, Real(1))};
  }
  const Array& array_;
  int block_, mu_;
  ColorRow<Real> first_, second_;
};

/// This view gives links of N = 18, 12 (SU(3)) or 14 (U(3)) reals as rows.
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
/// This view has no links, for hops without a second distance.
template <class Layout, class Storage>
class HopLinkView<Layout, Storage, 0> {
 public:
  HopLinkView() = default;
  explicit HopLinkView(const RawField&) {}
};

/// These are the links of all legs of a hop over one distance d. They ask for what lies `blocks_ahead` blocks
/// further on where the field at x says so: one flag and a constant, for a number that is known at run time
/// only takes registers that the products need.
template <class Layout, class Storage, int N>
class HopLegLinks {
 public:
  using Links = HopLinkView<Layout, Storage, N>;
  /// Links that are asked for leg by leg come while the core computes; those of a whole block at once would
  /// fill its queue (lab/two_hops).
  static constexpr int blocks_ahead = 2;

  HopLegLinks() = default;
  /// @pre here.blocks_ahead is 0 or blocks_ahead
  HopLegLinks(const RawField& here, const RawField& there)
      : here_{here}, there_{there}, lie_beside_{here.slots == 8}, asks_ahead_{here.blocks_ahead != 0} {}

  /// Returns V_mu(x).
  TRELLIS_SITE_FN auto forward(int block, int mu) const { return rows(here_, block, mu); }
  /// Returns V_mu(x - d mu), which lies in the block behind, or beside the links of this one.
  TRELLIS_SITE_FN auto backward(int block, int behind, int mu) const {
    const Links& links = lie_beside() ? here_ : there_;
    return rows(links, lie_beside() ? block : behind, lie_beside() ? 4 + mu : mu);
  }
  /// Returns true where links that lead to x lie beside its own.
  TRELLIS_SITE_FN bool lie_beside() const { return !Links::Array::is_gpu && lie_beside_; }

 private:
  static constexpr size_t link_bytes = size_t(N) * Layout::lanes * sizeof(typename Links::Array::Element);

  TRELLIS_SITE_FN auto rows(const Links& links, int block, int mu) const {
    if constexpr (!Links::Array::is_gpu)
      if (asks_ahead_) ask_for<link_bytes>(links.array().origin_address(block + blocks_ahead, mu));
    return links.rows(block, mu);
  }
  Links here_, there_;
  bool lie_beside_ = false, asks_ahead_ = false;
};

}  // namespace trellis
