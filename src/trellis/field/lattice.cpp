#include "trellis/field/lattice.hpp"

#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/field/rank_placement.hpp"

namespace trellis {

Lattice::Lattice(const Geometry& geometry, CommunicatorPtr communicator)
    : geometry_{geometry}, communicator_{std::move(communicator)} {
  TRELLIS_REQUIRE(communicator_ != nullptr, "a lattice needs a communicator");
  TRELLIS_REQUIRE(geometry.grid().size() == communicator_->size(), "process grid ",
                  to_string(geometry.grid().extents()), " has ", geometry.grid().size(), " processes, ",
                  communicator_->size(), " are running");
}

SiteLayoutPtr Lattice::layout(int lanes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = layouts_[lanes];
  if (!entry) entry = std::make_shared<SiteLayout>(geometry_, lanes);
  return entry;
}

ExtendedLayoutPtr Lattice::extended_layout(int lanes, int width) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = extended_[{lanes, width}];
  if (!entry) {
    entry = std::make_shared<ExtendedLayout>(geometry_, lanes, width);
    // A small local lattice has fewer lanes than were asked for: fields of either wish are stored alike.
    entry = extended_.try_emplace({entry->lanes(), width}, entry).first->second;
  }
  return entry;
}

GaugeTablesPtr Lattice::gauge_tables(int lanes, int width, Backend backend) const {
  const ExtendedLayoutPtr layout = extended_layout(lanes, width);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = gauge_tables_[{layout, backend}];
  if (!entry) entry = std::make_shared<GaugeTables>(layout, backend);
  return entry;
}

SiteTablesPtr Lattice::site_tables(const SiteLayoutPtr& layout, Backend backend) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = site_tables_[{layout, backend}];
  if (!entry) entry = std::make_shared<SiteTables>(layout, backend);
  return entry;
}

LatticePtr make_lattice(const Coord& extents, Coord grid, CommunicatorPtr communicator,
                        const Boundary& boundary) {
  if (!communicator) communicator = world();
  if (grid == Coord{0, 0, 0, 0}) grid = choose_process_grid(extents, communicator->size());
  const ProcessGrid processes = place_ranks(extents, grid, communicator->nodes(), rank_map());
  const Geometry geometry(extents, processes, communicator->rank(), boundary);
  static std::mutex mutex;
  static std::vector<std::weak_ptr<const Lattice>> in_use;
  const std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(in_use, [](const auto& entry) { return entry.expired(); });
  for (const auto& entry : in_use) {
    LatticePtr lattice = entry.lock();
    if (lattice && lattice->geometry() == geometry && &lattice->communicator() == communicator.get())
      return lattice;
  }
  LatticePtr lattice = std::make_shared<Lattice>(geometry, std::move(communicator));
  in_use.push_back(lattice);
  return lattice;
}

}  // namespace trellis
