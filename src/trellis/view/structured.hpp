#pragma once
/// Spinors, half spinors, colour vectors and links are read through SiteArray. A link view hides the
/// compression: a link has 18 stored reals, 12 (the third row is rebuilt) or 8.
#include "trellis/algebra/spinor.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

/// Loads and stores a struct that consists of N reals in a row.
template <class Object, class Array, class R, int N, Access access = Access::in_place>
TRELLIS_SITE_FN Object load_object(const Array& array, int block, int slot) {
  static_assert(sizeof(Object) == N * sizeof(R));
  Object object;
  array.template load<access>(block, slot, reinterpret_cast<R(&)[N]>(object));
  return object;
}
template <class Object, class Array, class R, int N>
TRELLIS_SITE_FN void store_object(const Array& array, int block, int slot, const Object& object) {
  static_assert(sizeof(Object) == N * sizeof(R));
  array.store(block, slot, reinterpret_cast<const R(&)[N]>(object));
}

/// This class views a field of Object<R> (Spinor, HalfSpinor, ColorVector, ColorMatrix) with N reals for each
/// site and slot.
template <class Layout, class Storage, template <class> class Object, int N>
class ObjectView {
 public:
  using Array = SiteArray<Layout, Storage, N>;
  using Real = typename Array::Real;
  using Value = Object<Real>;

  ObjectView() = default;
  explicit ObjectView(const RawField& raw) : array_{raw} {}
  TRELLIS_SITE_FN bool is_null() const { return array_.is_null(); }
  template <Access access = Access::in_place>
  TRELLIS_SITE_FN Value load(int block, int slot) const {
    return load_object<Value, Array, Real, N, access>(array_, block, slot);
  }
  TRELLIS_SITE_FN void store(int block, int slot, const Value& value) const {
    store_object<Value, Array, Real, N>(array_, block, slot, value);
  }
  TRELLIS_SITE_FN const Array& array() const { return array_; }

 private:
  Array array_;
};

/// This class views spinors, whole or one colour at a time.
template <class Layout, class Storage>
class SpinorView : public ObjectView<Layout, Storage, Spinor, 24> {
 public:
  using Base = ObjectView<Layout, Storage, Spinor, 24>;
  using Array = typename Base::Array;
  using Real = typename Base::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  using Base::Base;

  TRELLIS_SITE_FN Real load_unit(int block, int slot) const { return this->array().load_unit(block, slot); }

  /// Returns one colour of (1 + sign gamma_mu) psi; view/integer_products.hpp has it in fixed point.
  template <int mu, int colour>
  TRELLIS_SITE_FN HalfColumn<Real> projected_column(int block, int slot, Scalar sign) const {
    static_assert(!Array::is_half);
    SpinColumn<Real> column;
    unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA {
      constexpr int k = 6 * s + 2 * colour;
      column.s[s] = {this->array().template component<k>(block, slot, Real(1)),
                     this->array().template component<k + 1>(block, slot, Real(1))};
    });
    return project<mu>(column, Real(sign), Real(-sign));
  }
};
template <class Layout, class Storage>
using HalfSpinorView = ObjectView<Layout, Storage, HalfSpinor, 12>;
template <class Layout, class Storage>
using ColorVectorView = ObjectView<Layout, Storage, ColorVector, 6>;

/// This is a link that is read row by row; the third row of a 12-real link is rebuilt from the first two.
template <class Array, int LinkReals>
class LinkRows {
 public:
  using Real = typename Array::Real;
  TRELLIS_SITE_FN LinkRows(const Array& array, int block, int mu) : array_{array}, block_{block}, mu_{mu} {}

  /// Rows are asked for in the order 0, 1, 2.
  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> row() {
    if constexpr (LinkReals == 12) {
      if constexpr (i == 0) return first_ = read<0>();
      if constexpr (i == 1) return second_ = read<1>();
      return third_row(first_, second_);
    } else {
      return read<i>();
    }
  }

 private:
  static_assert(!Array::is_half, "links in fixed point are integers: IntegerRows");
  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> read() const {
    ColorRow<Real> r;
    unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
      constexpr int k = 6 * i + 2 * j;
      r.c[j] = {array_.template component<k>(block_, mu_, Real(1)),
                array_.template component<k + 1>(block_, mu_, Real(1))};
    });
    return r;
  }
  const Array& array_;
  int block_, mu_;
  ColorRow<Real> first_, second_;  // they are used for 12 reals only
};

template <class Array, int N>
class IntegerRows;  // it has links in fixed point: view/integer_products.hpp

/// This class views links of one parity: slot = direction.
template <class Layout, class Storage, int LinkReals>
class LinkView {
 public:
  using Array = SiteArray<Layout, Storage, LinkReals>;
  using Real = typename Array::Real;

  LinkView() = default;
  explicit LinkView(const RawField& raw) : array_{raw} {}

  TRELLIS_SITE_FN auto rows(int block, int mu) const {
    if constexpr (Array::is_half)
      return IntegerRows<Array, LinkReals>(array_, block, mu);
    else
      return LinkRows<Array, LinkReals>(array_, block, mu);
  }
  TRELLIS_SITE_FN ColorMatrix<Real> load(int block, int mu) const {
    static_assert(LinkReals == 18 || LinkReals == 12);
    ColorMatrix<Real> U;
    array_.load(block, mu, reinterpret_cast<Real(&)[LinkReals]>(U));
    if constexpr (LinkReals == 12) rebuild_third_row(U);
    return U;
  }
  TRELLIS_SITE_FN void store(int block, int mu, const ColorMatrix<Real>& U) const {
    array_.store(block, mu, reinterpret_cast<const Real(&)[LinkReals]>(U));
  }
  TRELLIS_SITE_FN const Array& array() const { return array_; }

 private:
  Array array_;
};

}  // namespace trellis
