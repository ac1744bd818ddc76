#include "trellis/field/site_tables.hpp"

#include "trellis/base/error.hpp"
#include "trellis/lattice/global_sites.hpp"

namespace trellis {

/// Returns the table of a list that the layout itself keeps.
const KernelTable<int32_t>& SiteTables::table_of(std::unique_ptr<KernelTable<int32_t>>& entry,
                                                 const std::vector<int32_t>& list) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!entry) entry = std::make_unique<KernelTable<int32_t>>(list, backend_);
  return *entry;
}

const int32_t* SiteTables::neighbours(int parity) const {
  return table_of(neighbours_[parity], layout_->neighbours(parity)).data();
}

SiteRange SiteTables::inner(int parity) const {
  return site_range(table_of(inner_[parity], layout_->inner(parity)));
}

SiteRange SiteTables::border(int parity) const {
  return site_range(table_of(border_[parity], layout_->border(parity)));
}

const int64_t* SiteTables::global_sites(int parity) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  OwnTable<int64_t>& table = global_sites_[parity];
  if (!table.is_set()) table.set(trellis::global_sites(*layout_, parity), backend_);
  return table.data();
}

void SiteTables::require_same_split(const ExtendedLayout& order) const {
  TRELLIS_REQUIRE(order.geometry() == layout_->geometry() && order.lane_extents() == layout_->lane_extents(),
                  "the orders of a gauge field and of a quark field split the lattice in different lanes");
}

const int32_t* SiteTables::extended_blocks(const ExtendedLayoutPtr& order, int parity) const {
  require_same_split(*order);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, is_new] = extended_blocks_[parity].try_emplace(order);
  if (is_new) {
    std::vector<int32_t> blocks;
    for (int block = 0; block < layout_->blocks(parity); ++block)
      blocks.push_back(order->block_at(layout_->coord({parity, block, 0})));
    at->second.set(std::move(blocks), backend_);
  }
  return at->second.data();
}

const int32_t* SiteTables::even_odd_blocks(const ExtendedLayoutPtr& order) const {
  require_same_split(*order);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, is_new] = even_odd_blocks_.try_emplace(order);
  if (is_new) {
    std::vector<int32_t> blocks(size_t(order->blocks()), -1);
    for (const int32_t block : order->inner()) {
      const SitePosition position = layout_->position(order->coord(block, 0));
      blocks[size_t(block)] = position.block << 1 | position.parity;
    }
    at->second.set(std::move(blocks), backend_);
  }
  return at->second.data();
}

}  // namespace trellis
