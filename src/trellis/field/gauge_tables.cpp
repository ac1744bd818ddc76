#include "trellis/field/gauge_tables.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/storage/memory_layout.hpp"
#include "trellis/lattice/global_sites.hpp"

namespace trellis {

GaugeTables::GaugeTables(ExtendedLayoutPtr layout, Backend backend)
    : layout_{std::move(layout)},
      backend_{backend},
      neighbours_{layout_->neighbours(), backend},
      inner_{layout_->inner(), backend},
      inner_of_{{layout_->inner(0), backend}, {layout_->inner(1), backend}} {
  require_gauge_backend(backend);
  TRELLIS_REQUIRE(has_lane_blocks(backend) || layout_->lanes() == 1, "a GPU has one lane, not ",
                  layout_->lanes());
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

namespace {
constexpr int link_reals = 18;
}

void GaugeTables::exchange(const RawField& links, const HaloPart& part, Communicator& communicator) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<SiteExchange>& exchange = exchanges_[part];
  if (!exchange) {
    const SiteObjects objects{.backend = backend_,
                              .precision = part.precision,
                              .lanes = layout_->lanes(),
                              .reals = link_reals,
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
