#pragma once
/// Spinors, half spinors, colour vectors and links read through SiteArray. A link view hides the compression:
/// 18 stored reals, 12 (the third row is rebuilt) or 8.
#include "trellis/algebra/spinor.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

/// Loads and stores a struct that consists of N reals in a row.
template <class Object, class Array, class R, int N>
TRELLIS_SITE_FN Object load_object(const Array& array, int block, int slot) {
  static_assert(sizeof(Object) == N * sizeof(R));
  Object object;
  array.load(block, slot, reinterpret_cast<R(&)[N]>(object));
  return object;
}
template <class Object, class Array, class R, int N>
TRELLIS_SITE_FN void store_object(const Array& array, int block, int slot, const Object& object) {
  static_assert(sizeof(Object) == N * sizeof(R));
  array.store(block, slot, reinterpret_cast<const R(&)[N]>(object));
}

/// A field of Object<R> (Spinor, HalfSpinor, ColorVector, ColorMatrix) with N reals per site and slot.
template <class Layout, class Storage, template <class> class Object, int N>
class ObjectView {
 public:
  using Array = SiteArray<Layout, Storage, N>;
  using Real = typename Array::Real;
  using Value = Object<Real>;

  ObjectView() = default;
  explicit ObjectView(const RawField& raw) : array_{raw} {}
  TRELLIS_SITE_FN bool is_null() const { return array_.is_null(); }
  TRELLIS_SITE_FN Value load(int block, int slot) const {
    return load_object<Value, Array, Real, N>(array_, block, slot);
  }
  TRELLIS_SITE_FN void store(int block, int slot, const Value& value) const {
    store_object<Value, Array, Real, N>(array_, block, slot, value);
  }
  TRELLIS_SITE_FN const Array& array() const { return array_; }

 private:
  Array array_;
};

/// Spinors, whole or one colour at a time.
template <class Layout, class Storage>
class SpinorView : public ObjectView<Layout, Storage, Spinor, 24> {
 public:
  using Base = ObjectView<Layout, Storage, Spinor, 24>;
  using Array = typename Base::Array;
  using Real = typename Base::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  using Base::Base;

  TRELLIS_SITE_FN Real load_unit(int block, int slot) const { return this->array().load_unit(block, slot); }

  /// The factor of projected_column(): with 16-bit storage the scale of the site and the units of spinor and
  /// link.
  TRELLIS_SITE_FN Real projection_unit(int block, int slot) const {
    return Array::is_half ? Real(fixed_point_unit) * load_unit(block, slot) : Real(1);
  }
  /// One colour of (1 + sign gamma_mu) psi times what LinkRows leave out. Spins are projected on the integers
  /// of 16-bit storage before these are converted: half the conversions, and exact.
  template <int mu, int colour>
  TRELLIS_SITE_FN HalfColumn<Real> projected_column(int block, int slot, Scalar sign,
                                                    const Real& unit) const {
    if constexpr (Array::is_half) {
      using Integer = typename Array::Integer;
      SpinColumn<Integer> column;
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA {
        column.s[s] = {this->array().integer(block, slot, 6 * s + 2 * colour),
                       this->array().integer(block, slot, 6 * s + 2 * colour + 1)};
      });
      const HalfColumn<Integer> p =
          sign > 0 ? project_exact<mu, true>(column) : project_exact<mu, false>(column);
      HalfColumn<Real> h;
      unroll<2>([&](auto s) TRELLIS_INLINE_LAMBDA {
        h.s[s] = {unit * integer_to_float(p.s[s].re, static_cast<Real*>(nullptr)),
                  unit * integer_to_float(p.s[s].im, static_cast<Real*>(nullptr))};
      });
      return h;
    } else {
      SpinColumn<Real> column;
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA {
        column.s[s] = {this->array().component(block, slot, 6 * s + 2 * colour, unit),
                       this->array().component(block, slot, 6 * s + 2 * colour + 1, unit)};
      });
      return project<mu>(column, Real(sign), Real(-sign));
    }
  }
};
template <class Layout, class Storage>
using HalfSpinorView = ObjectView<Layout, Storage, HalfSpinor, 12>;
template <class Layout, class Storage>
using ColorVectorView = ObjectView<Layout, Storage, ColorVector, 6>;

/// A link that is read row by row; the third row of a 12-real link is rebuilt from the first two. 16-bit
/// links come as multiples of 1/32767: what multiplies them carries that factor (projected_column does).
template <class Array, int LinkReals>
class LinkRows {
 public:
  using Real = typename Array::Real;
  TRELLIS_SITE_FN LinkRows(const Array& array, int block, int mu) : array_{array}, block_{block}, mu_{mu} {
    if constexpr (Array::is_half) {
      if (array.has_scale()) scale_ = Real(32767.0f) * array.load_unit(block, mu);
    }
  }

  /// Rows are asked for in the order 0, 1, 2.
  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> row() {
    if constexpr (LinkReals == 12) {
      if constexpr (i == 0) return first_ = read<0>();
      if constexpr (i == 1) return second_ = read<1>();
      ColorRow<Real> third = third_row(first_, second_);
      if constexpr (Array::is_half)
        unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA { third.c[j] = Real(fixed_point_unit) * third.c[j]; });
      return third;
    } else {
      return read<i>();
    }
  }

 private:
  template <int i>
  TRELLIS_SITE_FN ColorRow<Real> read() const {
    ColorRow<Real> r;
    unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
      constexpr int k = 6 * i + 2 * j;
      if constexpr (Array::is_half)
        r.c[j] = {integer_to_float(array_.integer(block_, mu_, k), static_cast<Real*>(nullptr)),
                  integer_to_float(array_.integer(block_, mu_, k + 1), static_cast<Real*>(nullptr))};
      else
        r.c[j] = {array_.component(block_, mu_, k, Real(1)), array_.component(block_, mu_, k + 1, Real(1))};
    });
    if constexpr (Array::is_half) {
      if (array_.has_scale()) unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA { r.c[j] = scale_ * r.c[j]; });
    }
    return r;
  }
  const Array& array_;
  int block_, mu_;
  Real scale_;                     // used for 16-bit links with scales only
  ColorRow<Real> first_, second_;  // used for 12 reals only
};

/// Links of one parity: slot = direction.
template <class Layout, class Storage, int LinkReals>
class LinkView {
 public:
  using Array = SiteArray<Layout, Storage, LinkReals>;
  using Real = typename Array::Real;

  LinkView() = default;
  explicit LinkView(const RawField& raw) : array_{raw} {}

  TRELLIS_SITE_FN LinkRows<Array, LinkReals> rows(int block, int mu) const { return {array_, block, mu}; }
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
