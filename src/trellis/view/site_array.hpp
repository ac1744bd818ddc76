#pragma once
/// SiteArray is the accessor through which kernels read and write N reals per site, whatever the layout and
/// the storage. Copies of it are passed by value to kernels; it owns nothing.
#include <type_traits>

#include "trellis/algebra/complex.hpp"
#include "trellis/algebra/fixed_point.hpp"
#include "trellis/algebra/float16.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/view/layout.hpp"
#include "trellis/view/vector_access.hpp"

namespace trellis {

/// This tag stands for storage in 16-bit fixed point with a scale for each site.
struct Half {};
/// This tag stands for storage in IEEE 754 binary16.
struct Fp16 {};

template <class Storage>
struct StorageTraits {
  using element = Storage;
  using compute = Storage;
};
template <>
struct StorageTraits<Half> {
  using element = int16_t;
  using compute = float;
};
template <>
struct StorageTraits<Fp16> {
  using element = Float16;
  using compute = float;
};

/// Launches take this untyped description of a field of one parity.
struct RawField {
  void* data = nullptr;
  float* scale = nullptr;  ///< [block][slot][lane], 16-bit fixed point only; null: all scales are 1
  int slots = 1;           ///< it counts right-hand sides, or directions of links
  /// Links in the CPU layout, whose directions of space lie beside each other, [block][x, y, z], before those
  /// of time, [block], have the number of blocks here; others have 0, for [block][slot].
  int blocks = 0;
  /// Views of links ask, with each link that they take, for the same link of so many blocks further on
  /// (view/ask_ahead.hpp); with 0 they ask for nothing.
  int blocks_ahead = 0;
};

template <class Layout, class Storage, int N>
class SiteArray {
 public:
  using Element = typename StorageTraits<Storage>::element;
  using Scalar = typename StorageTraits<Storage>::compute;
  using Real = LaneReal<Scalar, Layout::lanes>;
  static constexpr int W = Layout::lanes;
  static constexpr bool is_half = std::is_same_v<Storage, Half>;
  static constexpr bool rounds = !std::is_same_v<Element, Scalar>;  ///< stored is not what was computed
  static constexpr bool is_gpu = std::is_base_of_v<GpuLayout, Layout>;
  /// Links are kept in one of these numbers of reals; others always lie as [block][slot].
  static constexpr bool may_be_links = N == 18 || N == 14 || N == 12 || N == 8;

  SiteArray() = default;
  explicit SiteArray(const RawField& raw)
      : data_{static_cast<Element*>(raw.data)},
        scale_{raw.scale},
        slots_{raw.slots},
        block_stride_{raw.blocks == 0 ? raw.slots : 3},
        last_stride_{raw.blocks == 0 ? raw.slots : 1},
        last_offset_{raw.blocks == 0 ? 3 : 3 * raw.blocks} {}

  TRELLIS_SITE_FN bool is_null() const { return data_ == nullptr; }

  /// In 16-bit fixed point a full scale is this number.
  static constexpr float full_scale = fixed_point_full_scale(N);
  /// This type holds two stored components of a site (algebra/fixed_point.hpp).
  using Pair = typename PairOf<Real>::type;

  /// Loads r[i] = component i of the site. Fields that no thread writes while the kernel runs are read with
  /// Access::constant, which GPUs are free to reorder.
  template <Access access = Access::in_place>
  TRELLIS_SITE_FN void load(int block, int slot, Real (&r)[N]) const {
    if constexpr (is_half) {
      load_stored<access>(block, slot, r);
      const Real unit = load_unit(block, slot);
      unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = unit * r[i]; });
    } else if constexpr (is_gpu) {
      const Element* p = origin(block, slot);
      for_each_vector([&](auto first, auto length) TRELLIS_INLINE_LAMBDA {
        const auto v = ElementVector<Element, length>::template load<access>(p + offset(block, first));
        unroll<length>([&](auto i) TRELLIS_INLINE_LAMBDA { r[first + i] = Scalar(v.template get<i>()); });
      });
    } else {
      const Element* p = origin(block, slot);
      unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = load_real<Real>(p + offset(block, i)); });
    }
  }

  /// Loads the same without the site's scale: load() is load_unit() times this.
  template <Access access = Access::in_place>
  TRELLIS_SITE_FN void load_stored(int block, int slot, Real (&r)[N]) const {
    if constexpr (is_half && is_gpu) {
      static_assert(N % 2 == 0);
      const Element* p = origin(block, slot);
      for_each_vector([&](auto first, auto length) TRELLIS_INLINE_LAMBDA {
        const auto v = ElementVector<Element, length>::template load<access>(p + offset(block, first));
        unroll<length>([&](auto i) TRELLIS_INLINE_LAMBDA { r[first + i] = Real(v.template get<i>()); });
      });
    } else if constexpr (is_half) {
      static_assert(N % 2 == 0);
      unroll<N / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Pair a = pair(block, slot, k);
        r[2 * k] = integer_to_float(pair_re(a), static_cast<Real*>(nullptr));
        r[2 * k + 1] = integer_to_float(pair_im(a), static_cast<Real*>(nullptr));
      });
    } else {
      load<access>(block, slot, r);
    }
  }

  /// Returns the number with which load() multiplies stored numbers (16-bit fixed point), for reads of single
  /// components.
  TRELLIS_SITE_FN Real load_unit(int block, int slot) const {
    if constexpr (is_half)
      return scale_of(block, slot) * Real(1.0f / full_scale);
    else
      return Real(1);
  }
  /// Returns component i of the site; `unit` comes from load_unit(). No thread writes the field while the
  /// kernel runs, but for the components of this site after all that depends on them.
  template <int i>
  TRELLIS_SITE_FN Real component(int block, int slot, const Real& unit) const {
    if constexpr (is_half) {
      const Pair a = pair<i / 2>(block, slot);
      return unit * integer_to_float(i % 2 == 0 ? pair_re(a) : pair_im(a), static_cast<Real*>(nullptr));
    } else if constexpr (is_gpu) {
      constexpr GpuVector v = gpu_vector_of(i, N, vector_length);
      return Scalar(load_vector<v.first>(block, slot).template get<i - v.first>());
    } else {
      return load_real<Real>(origin(block, slot) + offset(block, i));
    }
  }
  /// Returns the same where i is known at run time only: GPUs load a single number, of any field.
  TRELLIS_SITE_FN Real component(int block, int slot, int i, const Real& unit) const {
    if constexpr (is_half) {
      const Pair a = pair(block, slot, i / 2);
      return unit * integer_to_float(i % 2 == 0 ? pair_re(a) : pair_im(a), static_cast<Real*>(nullptr));
    } else {
      return load_real<Real>(origin(block, slot) + offset(block, i));
    }
  }

  /// Returns components 2 k and 2 k + 1 as a complex number, where k may be known at run time only; `unit`
  /// comes from load_unit(). @pre N is even
  template <Access access = Access::in_place>
  TRELLIS_SITE_FN Complex<Real> number(int block, int slot, int k, const Real& unit) const {
    static_assert(N % 2 == 0);
    if constexpr (is_gpu) {
      const auto v =
          ElementVector<Element, 2>::template load<access>(origin(block, slot) + offset(block, 2 * k));
      const Scalar re = Scalar(v.template get<0>()), im = Scalar(v.template get<1>());
      if constexpr (is_half) return {unit * re, unit * im};
      return {re, im};
    } else {
      return {component(block, slot, 2 * k, unit), component(block, slot, 2 * k + 1, unit)};
    }
  }

  /// Returns the integers behind components 2 k and 2 k + 1 in 16-bit fixed point, of a field like that of
  /// component<i>().
  template <int k>
  TRELLIS_SITE_FN Pair pair(int block, int slot) const {
    if constexpr (is_gpu) {
      constexpr GpuVector v = gpu_vector_of(2 * k, N, vector_length);
      return Pair(load_vector<v.first>(block, slot).template pair<k - v.first / 2>());
    } else {
      return pair(block, slot, k);
    }
  }
  /// Returns the same where k is known at run time only.
  TRELLIS_SITE_FN Pair pair(int block, int slot, int k) const {
    const Element* p = origin(block, slot);
    if constexpr (is_gpu)
      return pack_pair(p[offset(block, 2 * k)], p[offset(block, 2 * k + 1)]);
    else
      return load_pair(p + size_t(k) * (2 * W), static_cast<Pair*>(nullptr));
  }

  TRELLIS_SITE_FN void store(int block, int slot, const Real (&r)[N]) const {
    Element* p = origin(block, slot);
    if constexpr (is_gpu) {
      [[maybe_unused]] Real inverse(Scalar(1));
      if constexpr (is_half) inverse = store_scale(block, slot, r);
      for_each_vector([&](auto first, auto length) TRELLIS_INLINE_LAMBDA {
        ElementVector<Element, length> v;
        unroll<length>([&](auto i) TRELLIS_INLINE_LAMBDA {
          if constexpr (is_half)
            v.template set<i>(Element(nearest_integer(inverse * r[first + i])));
          else
            v.template set<i>(Element(r[first + i]));
        });
        v.store(p + offset(block, first));
      });
    } else if constexpr (is_half) {
      const Real inverse = store_scale(block, slot, r);
      unroll<N / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Pair re = nearest_integer(inverse * r[2 * k]), im = nearest_integer(inverse * r[2 * k + 1]);
        store_pair(p + size_t(k) * (2 * W), pack_pair(re, im));
      });
    } else {
      unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA { store_real(p + offset(block, i), r[i]); });
    }
  }

  /// Loads r[i] = component first + i of the site; store_part() writes it back. @pre M == N where the site
  /// has a scale
  template <int M>
  TRELLIS_SITE_FN void load_part(int block, int slot, int first, Real (&r)[M]) const {
    if constexpr (M == N)
      load(block, slot, r);
    else
      unroll<M>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = component(block, slot, first + i, Real(1)); });
  }
  template <int M>
  TRELLIS_SITE_FN void store_part(int block, int slot, int first, const Real (&r)[M]) const {
    static_assert(M == N || !is_half);
    if constexpr (M == N) {
      store(block, slot, r);
    } else {
      Element* p = origin(block, slot);
      unroll<M>([&](auto i) TRELLIS_INLINE_LAMBDA { store_real(p + offset(block, first + i), r[i]); });
    }
  }

  /// Loads r = components first .. first + M - 1 in the GPU layout; store_group() writes them back. M is a
  /// power of two, and `first` a multiple of it. @pre the field has no scales
  template <int M>
  TRELLIS_SITE_FN void load_group(int block, int slot, int first, Real (&r)[M]) const {
    for_each_vector_of_group<M>([&](auto at, auto length) TRELLIS_INLINE_LAMBDA {
      const auto v = ElementVector<Element, length>::template load<Access::in_place>(
          origin(block, slot) + offset(block, first + at));
      unroll<length>([&](auto i) TRELLIS_INLINE_LAMBDA { r[at + i] = Scalar(v.template get<i>()); });
    });
  }
  template <int M>
  TRELLIS_SITE_FN void store_group(int block, int slot, int first, const Real (&r)[M]) const {
    for_each_vector_of_group<M>([&](auto at, auto length) TRELLIS_INLINE_LAMBDA {
      ElementVector<Element, length> v;
      unroll<length>([&](auto i) TRELLIS_INLINE_LAMBDA { v.template set<i>(Element(r[at + i])); });
      v.store(origin(block, slot) + offset(block, first + at));
    });
  }

  /// Returns the address of a site's first element, for prefetching.
  TRELLIS_SITE_FN const Element* origin_address(int block, int slot) const { return origin(block, slot); }

 private:
  static constexpr int vector_length = gpu_vector_length<Element>;

  /// Returns the first component of vector k of the GPU layout.
  TRELLIS_SITE_FN static constexpr int vector_begin(int k) {
    int first = 0;
    for (; k > 0; --k) first += gpu_vector_of(first, N, vector_length).length;
    return first;
  }
  TRELLIS_SITE_FN static constexpr int vector_count() {
    int count = 0;
    for (int first = 0; first < N; ++count) first += gpu_vector_of(first, N, vector_length).length;
    return count;
  }
  /// Calls f(first component, components) for the vectors of a site, both as std::integral_constant.
  template <class F>
  TRELLIS_SITE_FN static void for_each_vector(const F& f) {
    unroll<vector_count()>([&](auto k) TRELLIS_INLINE_LAMBDA {
      constexpr int first = vector_begin(k);
      f(std::integral_constant<int, first>{},
        std::integral_constant<int, gpu_vector_of(first, N, vector_length).length>{});
    });
  }
  /// Calls f(first component, components) for the vectors of M components, both as std::integral_constant.
  template <int M, class F>
  TRELLIS_SITE_FN static void for_each_vector_of_group(const F& f) {
    static_assert(is_gpu && !is_half && N % vector_length == 0 && N % M == 0);
    constexpr int length = M < vector_length ? M : vector_length;
    unroll<M / length>([&](auto k) TRELLIS_INLINE_LAMBDA {
      f(std::integral_constant<int, length * k>{}, std::integral_constant<int, length>{});
    });
  }
  template <int first>
  TRELLIS_SITE_FN auto load_vector(int block, int slot) const {
    return ElementVector<Element, gpu_vector_of(first, N, vector_length).length>::template load<
        Access::constant>(origin(block, slot) + offset(block, first));
  }

  TRELLIS_SITE_FN Element* origin(int block, int slot) const {
    if constexpr (is_gpu)
      return data_ + (size_t(block / GpuLayout::warp) * slots_ + slot) * (N * GpuLayout::warp);
    else
      return data_ + record(block, slot) * (N * W);
  }
  TRELLIS_SITE_FN static size_t offset(int block, int component) {
    if constexpr (is_gpu)
      return gpu_component_offset(component, N, block % GpuLayout::warp, gpu_vector_length<Element>);
    else
      return cpu_component_offset<Element>(component, 0, W);
  }
  TRELLIS_SITE_FN float* scale_address(int block, int slot) const {
    if constexpr (is_gpu)
      return scale_ + (size_t(block / GpuLayout::warp) * slots_ + slot) * GpuLayout::warp +
             block % GpuLayout::warp;
    else
      return scale_ + record(block, slot) * W;
  }
  TRELLIS_SITE_FN Real scale_of(int block, int slot) const {
    return scale_ == nullptr ? Real(1) : load_real<Real>(scale_address(block, slot));
  }
  /// Stores the scale of the site (NaN or infinity once a component is) and returns full_scale / scale.
  TRELLIS_SITE_FN Real store_scale(int block, int slot, const Real (&r)[N]) const {
    if (scale_ == nullptr) return Real(full_scale);
    Real largest(0.0f);
    unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA { largest = larger_magnitude(largest, r[i]); });
    store_real(scale_address(block, slot), largest);
    return Real(full_scale) / maximum(largest, Real(1e-37f));
  }

  TRELLIS_SITE_FN size_t record(int block, int slot) const {
    if constexpr (may_be_links)
      if (slot == 3) return size_t(block) * last_stride_ + last_offset_;
    return size_t(block) * block_stride_ + size_t(slot);
  }

  Element* data_ = nullptr;
  float* scale_ = nullptr;
  int slots_ = 1, block_stride_ = 1, last_stride_ = 1, last_offset_ = 0;
};

}  // namespace trellis
