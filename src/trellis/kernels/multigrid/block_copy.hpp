#pragma once
/// Spinors between the order of fields, in the numbers of the arithmetic, and that of blocks, in any storage.
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
  /// The first real of lane `lane` of a vector.
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

}  // namespace trellis
