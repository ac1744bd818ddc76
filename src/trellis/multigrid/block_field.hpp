#pragma once
/// The numbers of the sites of this rank lie block by block (lattice/block_order.hpp).
#include "trellis/device/memory.hpp"
#include "trellis/field/storage/site_storage.hpp"
#include "trellis/lattice/block_order.hpp"

namespace trellis {

class BlockField {
 public:
  BlockField() = default;
  /// Makes a zero field on the sites of both parities, or of one.
  BlockField(const BlockOrder& order, Precision precision, int reals, int slots, int parities = 2)
      : storage_{precision, Backend{}, order.lanes(), order.vectors(), slots, reals},
        memory_{size_t(parities) * storage_.bytes()} {}

  /// @param which is one of its parities
  RawField raw(int which) const {
    char* const begin = const_cast<char*>(static_cast<const char*>(memory_.data()));
    return storage_.raw(begin + size_t(which) * storage_.bytes());
  }
  const SiteStorage& storage() const { return storage_; }
  void set_zero() { memory_.set_zero(); }
  size_t bytes() const { return memory_.bytes(); }

 private:
  SiteStorage storage_;
  Memory memory_;
};

}  // namespace trellis
