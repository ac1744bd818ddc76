#include "trellis/field/gauge_tables.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/storage/memory_layout.hpp"
#include "trellis/lattice/global_sites.hpp"
#include "trellis/lattice/tile_order.hpp"

namespace trellis {

namespace {
/// The links of a column of tiles take 2.4 MB at one time, and with all that a kernel reads and writes there
/// at three times a third of a GPU's second cache.
constexpr int column_sites = 4096;
}  // namespace

GaugeTables::GaugeTables(ExtendedLayoutPtr layout, Backend backend)
    : layout_{std::move(layout)}, backend_{backend}, neighbours_{layout_->neighbours(), backend} {
  require_gauge_backend(backend);
  TRELLIS_REQUIRE(has_lane_blocks(backend) || layout_->lanes() == 1, "a GPU has one lane, not ",
                  layout_->lanes());
  const auto listed = [&](const std::vector<int32_t>& blocks) {
    return has_lane_blocks(backend) ? KernelTable<int32_t>(blocks, backend)
                                    : KernelTable<int32_t>(in_tiles(*layout_, blocks, column_sites), backend);
  };
  inner_ = listed(layout_->inner());
  for (int parity = 0; parity < 2; ++parity) inner_of_[parity] = listed(layout_->inner(parity));
}

int GaugeTables::stored_blocks() const { return trellis::stored_blocks(backend_, layout_->blocks()); }

ExtendedTables GaugeTables::views() const {
  ExtendedTables t;
  t.neighbours = neighbours_.data();
  if (has_lane_blocks(backend_)) {  // with one lane nothing is displaced
    t.shift_sums = layout_->shift_sums().data();
    t.permutations = layout_->permutations();
  }
  for (int leg = 0; leg < 8; ++leg) t.shift[leg] = layout_->shift(leg);
  return t;
}

const int64_t* GaugeTables::global_sites() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!global_sites_.is_set()) global_sites_.set(trellis::global_sites(*layout_), backend_);
  return global_sites_.data();
}

SiteRange GaugeTables::first_of_lines(int mu) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  OwnTable<int32_t>& table = first_of_lines_[mu];
  if (!table.is_set()) {
    Coord slice = layout_->geometry().local();
    slice[mu] = 1;
    std::vector<int32_t> blocks(size_t(slice[0]) * size_t(slice[1]) * size_t(slice[2]) * size_t(slice[3]));
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = layout_->block_at(site_coord(int(i), slice));
    table.set(std::move(blocks), backend_);
  }
  SiteRange range(int(table.size()));
  range.list = table.data();
  return range;
}

void GaugeTables::exchange(const RawField& links, const HaloPart& part, Communicator& communicator) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<SiteExchange>& exchange = exchanges_[part];
  if (!exchange) {
    const SiteObjects objects{.backend = backend_,
                              .precision = part.precision,
                              .lanes = layout_->lanes(),
                              .reals = reals_per_link,
                              .first_slot = part.first_link,
                              .slots = part.links,
                              .first_ghost_slot = part.first_link};
    exchange = std::make_unique<SiteExchange>(halo_plan(*layout_, part.layers, part.parity), objects,
                                              layout_->geometry(), communicator);
  }
  exchange->start(links, {}, links);  // ghosts are blocks of the same array
  exchange->finish();
}

}  // namespace trellis
