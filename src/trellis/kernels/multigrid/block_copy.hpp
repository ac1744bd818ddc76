#pragma once
/// Spinors go between the order of fields, in the arithmetic's numbers, and that of blocks, in any storage.
#include "trellis/algebra/lane_transpose.hpp"
#include "trellis/kernels/multigrid/block_call.hpp"
#include "trellis/view/structured.hpp"

namespace trellis {

template <class Layout, class Storage>
class BlockCopy {
 public:
  static constexpr int reals = 24;
  using Array = SiteArray<Layout, Storage, reals>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;
  static constexpr int W = Layout::lanes;

  explicit BlockCopy(const BlockCopyCall& call)
      : blocks_{call.blocks},
        outside_{static_cast<Scalar*>(call.outside)},
        origin_{call.origin},
        lanes_{call.outside_lanes},
        slots_{call.slots} {}

 protected:
  /// Returns the first real of lane `lane` of a vector.
  TRELLIS_SITE_FN Scalar* address(int vector, int lane, int slot) const {
    const int32_t at = origin_[size_t(vector) * W + size_t(lane)];
    return outside_ + (size_t(at / lanes_) * size_t(slots_) + size_t(slot)) * size_t(reals * lanes_) +
           at % lanes_;
  }
  Array blocks_;
  Scalar* outside_;
  const int32_t* origin_;
  int lanes_, slots_;
};

template <class Layout, class Storage>
class CopyToBlocks : BlockCopy<Layout, Storage> {
 public:
  using Base = BlockCopy<Layout, Storage>;
  using Base::Base;
  TRELLIS_SITE_FN void operator()(int vector, int slot) const {
    alignas(64) typename Base::Scalar numbers[Base::reals][Base::W];
    for (int lane = 0; lane < Base::W; ++lane) {
      const typename Base::Scalar* from = this->address(vector, lane, slot);
      for (int i = 0; i < Base::reals; ++i) numbers[i][lane] = from[size_t(i) * size_t(this->lanes_)];
    }
    typename Base::Real r[Base::reals];
    for (int i = 0; i < Base::reals; ++i) r[i] = load_real<typename Base::Real>(numbers[i]);
    this->blocks_.store(vector, slot, r);
  }
};

template <class Layout, class Storage>
class CopyFromBlocks : BlockCopy<Layout, Storage> {
 public:
  using Base = BlockCopy<Layout, Storage>;
  using Base::Base;
  TRELLIS_SITE_FN void operator()(int vector, int slot) const {
    alignas(64) typename Base::Scalar numbers[Base::reals][Base::W];
    typename Base::Real r[Base::reals];
    this->blocks_.load(vector, slot, r);
    for (int i = 0; i < Base::reals; ++i) store_real(numbers[i], r[i]);
    for (int lane = 0; lane < Base::W; ++lane) {
      typename Base::Scalar* to = this->address(vector, lane, slot);
      for (int i = 0; i < Base::reals; ++i) to[size_t(i) * size_t(this->lanes_)] = numbers[i][lane];
    }
  }
};

/// It copies as many vectors of blocks as there are lanes; their sites lie in as many vectors outside. A
/// block is then one lane outside, and its lanes are as many as those.
template <class Layout, class Storage>
class CopyGroups {
 public:
  static constexpr int W = Layout::lanes, reals = 24;
  using Array = SiteArray<Layout, Storage, reals>;
  using Scalar = typename Array::Scalar;
  using Real = typename Array::Real;
  static constexpr bool is_legal = requires { typename Real::Vector; };

  explicit CopyGroups(const BlockCopyCall& call)
      : blocks_{call.blocks},
        outside_{static_cast<Scalar*>(call.outside)},
        vectors_{call.group_vectors},
        places_{call.group_places},
        slots_{call.slots} {}

  void to_blocks(int group, int slot) const requires is_legal {
    Real all[W][reals];
    for (int k = 0; k < reals; ++k) {
      Real r[W];
      unroll<W>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = load_real<Real>(address(group, i, slot, k)); });
      transpose(r);
      unroll<W>([&](auto i) TRELLIS_INLINE_LAMBDA { all[i][k] = r[i]; });
    }
    for (int i = 0; i < W; ++i) blocks_.store(vectors_[size_t(group) * W + size_t(i)], slot, all[i]);
  }
  void from_blocks(int group, int slot) const requires is_legal {
    Real all[W][reals];
    for (int i = 0; i < W; ++i) blocks_.load(vectors_[size_t(group) * W + size_t(i)], slot, all[i]);
    for (int k = 0; k < reals; ++k) {
      Real r[W];
      unroll<W>([&](auto i) TRELLIS_INLINE_LAMBDA { r[i] = all[i][k]; });
      transpose(r);
      unroll<W>([&](auto i) TRELLIS_INLINE_LAMBDA { store_real(address(group, i, slot, k), r[i]); });
    }
  }

 private:
  Scalar* address(int group, int i, int slot, int k) const {
    const size_t block = size_t(places_[size_t(group) * W + size_t(i)]);
    return outside_ + ((block * size_t(slots_) + size_t(slot)) * reals + size_t(k)) * W;
  }
  Array blocks_;
  Scalar* outside_;
  const int32_t *vectors_, *places_;
  int slots_;
};

}  // namespace trellis
