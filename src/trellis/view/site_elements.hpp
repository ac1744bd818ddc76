#pragma once
/// Fields with any number of reals a site have their stored elements here; kernels for any field move them or
/// compute with them. SiteArray is for numbers of reals that are known when a kernel is compiled.
#include "trellis/view/site_array.hpp"

namespace trellis {

/// Returns the full scale of 16-bit fixed point in fields: links have theirs, as 1 is stored as 32767 there.
TRELLIS_SITE_FN constexpr float site_full_scale(int reals) {
  return reals == 6 || reals == 24 ? fixed_point_full_scale(reals) : 32767.0f;
}

/// Returns the reals of a site in memory: fixed point on a CPU keeps pairs, of which the last may lack its
/// second.
TRELLIS_SITE_FN constexpr int stored_reals(int reals, bool has_pairs) {
  return has_pairs ? (reals + 1) / 2 * 2 : reals;
}

template <class Layout, class Storage>
class SiteElements {
 public:
  using Element = typename StorageTraits<Storage>::element;
  using Scalar = typename StorageTraits<Storage>::compute;
  using Real = LaneReal<Scalar, Layout::lanes>;
  static constexpr int W = Layout::lanes;
  static constexpr bool is_half = std::is_same_v<Storage, Half>;
  static constexpr bool rounds = !std::is_same_v<Element, Scalar>;
  static constexpr bool is_gpu = std::is_base_of_v<GpuLayout, Layout>;

  SiteElements() = default;
  SiteElements(const RawField& raw, int reals)
      : data_{static_cast<Element*>(raw.data)}, scale_{raw.scale}, slots_{raw.slots}, reals_{reals} {}

  TRELLIS_SITE_FN bool is_null() const { return data_ == nullptr; }
  TRELLIS_SITE_FN int reals() const { return reals_; }

  /// Returns the element of one component of one lane (of a GPU's site: lane 0).
  TRELLIS_SITE_FN Element* element(int block, int lane, int slot, int component) const {
    if constexpr (is_gpu)
      return data_ + (size_t(block / GpuLayout::warp) * slots_ + slot) * (size_t(reals_) * GpuLayout::warp) +
             gpu_component_offset(component, reals_, block % GpuLayout::warp, gpu_vector_length<Element>);
    else
      return data_ + (size_t(block) * slots_ + slot) * (size_t(stored_reals(reals_, is_half)) * W) +
             cpu_component_offset<Element>(component, lane, W);
  }
  /// Returns the scale of one lane. @pre is_half
  TRELLIS_SITE_FN float* scale(int block, int lane, int slot) const {
    if constexpr (is_gpu)
      return scale_ + (size_t(block / GpuLayout::warp) * slots_ + slot) * GpuLayout::warp +
             block % GpuLayout::warp;
    else
      return scale_ + (size_t(block) * slots_ + slot) * W + lane;
  }

  /// Returns the number with which stored numbers are multiplied.
  TRELLIS_SITE_FN Real unit(int block, int slot) const {
    if constexpr (is_half)
      return load_real<Real>(scale(block, 0, slot)) * Real(1.0f / site_full_scale(reals_));
    else
      return Real(1);
  }
  /// Returns component i as it is stored, in all lanes.
  TRELLIS_SITE_FN Real stored(int block, int slot, int i) const {
    if constexpr (is_half && is_gpu)
      return Real(*element(block, 0, slot, i));
    else if constexpr (is_half)
      return integer_to_float(half_of_pair(pair(block, slot, i / 2), i), static_cast<Real*>(nullptr));
    else
      return load_real<Real>(element(block, 0, slot, i));
  }
  TRELLIS_SITE_FN Real load(int block, int slot, int i, const Real& unit) const {
    if constexpr (is_half)
      return unit * stored(block, slot, i);
    else
      return stored(block, slot, i);
  }
  /// Loads r = components i (even) and i + 1 as they are stored, 0 where the site has no component i + 1.
  template <Access access = Access::in_place>
  TRELLIS_SITE_FN void stored_pair(int block, int slot, int i, Real (&r)[2]) const {
    if (i + 1 == reals_) {
      r[0] = stored(block, slot, i);
      r[1] = Real(Scalar(0));
    } else if constexpr (is_gpu) {
      const auto v = ElementVector<Element, 2>::template load<access>(element(block, 0, slot, i));
      r[0] = Scalar(v.template get<0>());
      r[1] = Scalar(v.template get<1>());
    } else {
      r[0] = stored(block, slot, i);
      r[1] = stored(block, slot, i + 1);
    }
  }
  /// Loads the same in units of the field; `unit` comes from unit().
  template <Access access = Access::in_place>
  TRELLIS_SITE_FN void load_pair(int block, int slot, int i, const Real& unit, Real (&r)[2]) const {
    stored_pair<access>(block, slot, i, r);
    if constexpr (is_half) {
      r[0] = unit * r[0];
      r[1] = unit * r[1];
    }
  }
  /// Stores components i (even) and, where the site has one more, i + 1; `inverse` comes from store_scale().
  TRELLIS_SITE_FN void store(int block, int slot, int i, const Real (&r)[2], const Real& inverse) const {
    const bool has_two = i + 1 < reals_;
    if constexpr (is_gpu) {
      Element e[2];
      for (int k = 0; k < 2; ++k) e[k] = rounded(r[k], inverse);
      if (!has_two) {
        *element(block, 0, slot, i) = e[0];
        return;
      }
      ElementVector<Element, 2> v;
      v.template set<0>(e[0]);
      v.template set<1>(e[1]);
      v.store(element(block, 0, slot, i));
    } else if constexpr (is_half) {
      const auto re = nearest_integer(inverse * r[0]), im = nearest_integer(inverse * r[1]);
      store_pair(element(block, 0, slot, i), pack_pair(re, im));
    } else {
      store_real(element(block, 0, slot, i), r[0]);
      if (has_two) store_real(element(block, 0, slot, i + 1), r[1]);
    }
  }
  /// Stores the scale of the site, its largest component, and returns full scale / scale.
  TRELLIS_SITE_FN Real store_scale(int block, int slot, const Real& largest) const {
    if constexpr (is_half) {
      store_real(scale(block, 0, slot), largest);
      return Real(site_full_scale(reals_)) / maximum(largest, Real(1e-37f));
    } else {
      return Real(1);
    }
  }

 private:
  using Pair = typename PairOf<Real>::type;
  TRELLIS_SITE_FN static Element rounded(const Real& x, const Real& inverse) {
    if constexpr (is_half)
      return Element(nearest_integer(inverse * x));
    else
      return Element(x);
  }
  TRELLIS_SITE_FN Pair pair(int block, int slot, int k) const {
    return trellis::load_pair(element(block, 0, slot, 2 * k), static_cast<Pair*>(nullptr));
  }
  TRELLIS_SITE_FN static Pair half_of_pair(const Pair& a, int i) {
    return i % 2 == 0 ? pair_re(a) : pair_im(a);
  }

  Element* data_ = nullptr;
  float* scale_ = nullptr;
  int slots_ = 1, reals_ = 1;
};

}  // namespace trellis
