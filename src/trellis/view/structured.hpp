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
  R r[N];
  array.load(block, slot, r);
  Object object;
  __builtin_memcpy(&object, r, sizeof(object));
  return object;
}
template <class Object, class Array, class R, int N>
TRELLIS_SITE_FN void store_object(const Array& array, int block, int slot, const Object& object) {
  static_assert(sizeof(Object) == N * sizeof(R));
  R r[N];
  __builtin_memcpy(r, &object, sizeof(object));
  array.store(block, slot, r);
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

template <class Layout, class Storage>
using SpinorView = ObjectView<Layout, Storage, Spinor, 24>;
template <class Layout, class Storage>
using HalfSpinorView = ObjectView<Layout, Storage, HalfSpinor, 12>;
template <class Layout, class Storage>
using ColorVectorView = ObjectView<Layout, Storage, ColorVector, 6>;

/// Links of one parity: slot = direction.
template <class Layout, class Storage, int LinkReals>
class LinkView {
 public:
  using Array = SiteArray<Layout, Storage, LinkReals>;
  using Real = typename Array::Real;

  LinkView() = default;
  explicit LinkView(const RawField& raw) : array_{raw} {}

  TRELLIS_SITE_FN ColorMatrix<Real> load(int block, int mu) const {
    static_assert(LinkReals == 18 || LinkReals == 12);
    Real r[LinkReals];
    array_.load(block, mu, r);
    ColorMatrix<Real> U;
    __builtin_memcpy(&U, r, sizeof(r));
    if constexpr (LinkReals == 12) rebuild_third_row(U);
    return U;
  }
  TRELLIS_SITE_FN void store(int block, int mu, const ColorMatrix<Real>& U) const {
    Real r[LinkReals];
    __builtin_memcpy(r, &U, sizeof(r));
    array_.store(block, mu, r);
  }
  TRELLIS_SITE_FN const Array& array() const { return array_; }

 private:
  Array array_;
};

}  // namespace trellis
