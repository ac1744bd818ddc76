#pragma once
/// An even-odd order has its tables where the kernels of a backend can read them: all fields and operators of
/// a lattice with that order share them, and each is made when it is first asked for. On a GPU they are
/// copied there once.
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "trellis/device/own_table.hpp"
#include "trellis/lattice/extended_layout.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

class SiteTables {
 public:
  SiteTables(SiteLayoutPtr layout, Backend backend) : layout_{std::move(layout)}, backend_{backend} {}

  /// Returns the table [block][leg]: the neighbours of the blocks of a parity (SiteLayout::neighbours).
  const int32_t* neighbours(int parity) const;
  /// Return the blocks of a parity without and with a neighbour on another rank.
  SiteRange inner(int parity) const;
  SiteRange border(int parity) const;
  /// Returns the table [block][lane] of a parity: the index in the whole lattice, which keys random numbers.
  const int64_t* global_sites(int parity) const;
  /// Returns the table [block] of a parity: the block of the same sites in the order of gauge fields. @pre
  /// the same lane split
  const int32_t* extended_blocks(const ExtendedLayoutPtr& order, int parity) const;
  /// Returns the table [block in the order of gauge fields]: block << 1 | parity in this one; -1 in its halo.
  /// @pre likewise
  const int32_t* even_odd_blocks(const ExtendedLayoutPtr& order) const;

 private:
  void require_same_split(const ExtendedLayout& order) const;
  SiteLayoutPtr layout_;
  Backend backend_;
  mutable std::mutex mutex_;
  const KernelTable<int32_t>& table_of(std::unique_ptr<KernelTable<int32_t>>& entry,
                                       const std::vector<int32_t>& list) const;
  mutable std::unique_ptr<KernelTable<int32_t>> neighbours_[2], inner_[2], border_[2];
  mutable OwnTable<int64_t> global_sites_[2];
  mutable std::map<ExtendedLayoutPtr, OwnTable<int32_t>> extended_blocks_[2], even_odd_blocks_;
};

using SiteTablesPtr = std::shared_ptr<const SiteTables>;

}  // namespace trellis
