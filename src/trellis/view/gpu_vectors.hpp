#pragma once
/// Kernels whose threads share a site read and write fields in the GPU layout by vectors of 16 bytes, and
/// keep sites for each other in memory that a team shares.
#include "trellis/view/site_array.hpp"

namespace trellis {

/// It has the numbers of a site whose vectors are taken one by one. @pre N is a multiple of `width`
template <class Storage, int N>
class GpuVectors {
 public:
  using Element = typename StorageTraits<Storage>::element;
  using Real = typename StorageTraits<Storage>::compute;
  static constexpr int width = gpu_vector_length<Element>;
  static constexpr int count = N / width;  ///< a site has so many vectors
  static constexpr bool is_half = std::is_same_v<Storage, Half>;
  using Vector = ElementVector<Element, width>;
  static_assert(N % width == 0);

  GpuVectors() = default;
  explicit GpuVectors(const RawField& raw)
      : data_{static_cast<Element*>(raw.data)}, scale_{raw.scale}, slots_{raw.slots} {}

  TRELLIS_SITE_FN Vector load(int block, int slot, int k) const {
    return Vector::template load<Access::in_place>(data_ + offset(block, slot, k));
  }
  TRELLIS_SITE_FN void store(int block, int slot, int k, const Vector& v) const {
    v.store(data_ + offset(block, slot, k));
  }
  /// Returns the number with which stored numbers are multiplied (SiteArray::load_unit()).
  TRELLIS_SITE_FN Real unit(int block, int slot) const {
    if constexpr (is_half)
      return (scale_ == nullptr ? 1.0f : scale_[scale_place(block, slot)]) *
             (1.0f / fixed_point_full_scale(N));
    else
      return Real(1);
  }
  /// Stores the scale of a site whose largest magnitude is given, and returns by what its numbers are
  /// multiplied before they are stored.
  TRELLIS_SITE_FN Real store_scale(int block, int slot, const Real& largest) const {
    if (scale_ == nullptr) return Real(fixed_point_full_scale(N));
    scale_[scale_place(block, slot)] = largest;
    return inverse_of(largest);
  }
  TRELLIS_SITE_FN static Real inverse_of(const Real& largest) {
    return Real(fixed_point_full_scale(N)) / maximum(largest, Real(1e-37f));
  }

  TRELLIS_SITE_FN static void unpack(const Vector& v, const Real& unit, Real (&r)[width]) {
    unroll<width>([&](auto i) TRELLIS_INLINE_LAMBDA {
      if constexpr (is_half)
        r[i] = unit * Real(v.template get<i>());
      else
        r[i] = Real(v.template get<i>());
    });
  }
  TRELLIS_SITE_FN static Vector packed(const Real& inverse, const Real (&r)[width]) {
    Vector v;
    unroll<width>([&](auto i) TRELLIS_INLINE_LAMBDA {
      if constexpr (is_half)
        v.template set<i>(Element(nearest_integer(inverse * r[i])));
      else
        v.template set<i>(Element(r[i]));
    });
    return v;
  }

  /// Read and write vectors in memory that a team shares. @pre `p` is a multiple of 16
  TRELLIS_SITE_FN static Vector read_shared(const void* p) {
    Vector v;
    memcpy(&v, __builtin_assume_aligned(p, sizeof(Vector)), sizeof(v));
    return v;
  }
  TRELLIS_SITE_FN static void write_shared(void* p, const Vector& v) {
    memcpy(__builtin_assume_aligned(p, sizeof(Vector)), &v, sizeof(v));
  }

 private:
  TRELLIS_SITE_FN size_t scale_place(int block, int slot) const {
    return (size_t(block / GpuLayout::warp) * slots_ + slot) * GpuLayout::warp + block % GpuLayout::warp;
  }
  TRELLIS_SITE_FN size_t offset(int block, int slot, int k) const {
    return (size_t(block / GpuLayout::warp) * slots_ + slot) * (N * GpuLayout::warp) +
           k * (width * GpuLayout::warp) + block % GpuLayout::warp * width;
  }

  Element* data_ = nullptr;
  float* scale_ = nullptr;
  int slots_ = 1;
};

}  // namespace trellis
