#include "trellis/lattice/aggregates.hpp"

#include <cmath>
#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {

int least_extent(AggregatesOf kind) { return kind == AggregatesOf::sites ? 2 : 1; }
int wished_extent(AggregatesOf kind) { return kind == AggregatesOf::sites ? 4 : 2; }

/// Returns whether an extent is legal: it cuts the lattice into an even number of blocks in one direction, a
/// rank into whole ones.
bool is_legal(const Geometry& geometry, int mu, int extent, AggregatesOf kind) {
  return extent >= least_extent(kind) && geometry.local()[mu] % extent == 0 &&
         geometry.lattice()[mu] / extent % 2 == 0;
}

std::vector<int> legal_extents(const Geometry& geometry, int mu, AggregatesOf kind) {
  std::vector<int> legal;
  for (int extent = 1; extent <= geometry.local()[mu]; ++extent)
    if (is_legal(geometry, mu, extent, kind)) legal.push_back(extent);
  return legal;
}

}  // namespace

bool Aggregates::fit(const SiteLayout& layout, const Coord& block) {
  for (int mu = 0; mu < Nd; ++mu)
    if (layout.sub_extents()[mu] % block[mu] != 0) return false;
  return true;
}

Aggregates::Aggregates(SiteLayoutPtr layout, const Coord& block, AggregatesOf kind)
    : layout_{std::move(layout)}, block_{block} {
  const std::string error = block_error(layout_->geometry(), block, kind);
  TRELLIS_REQUIRE(error.empty(), error);
  TRELLIS_REQUIRE(fit(*layout_, block), "aggregates of ", to_string(block),
                  " do not divide the sub-lattices of ", layout_->lanes(), " lanes, ",
                  to_string(layout_->sub_extents()));
  for (int mu = 0; mu < Nd; ++mu) groups_per_direction_[mu] = layout_->sub_extents()[mu] / block_[mu];
  groups_ = int(product(groups_per_direction_));
  for (int parity = 0; parity < 2; ++parity) group_of_[parity].resize(size_t(layout_->blocks(parity)));
  table_.reserve(size_t(groups_) * size_t(sites()));
  for (int group = 0; group < groups_; ++group) {
    const Coord origin = site_coord(group, groups_per_direction_);
    for (int site = 0; site < sites(); ++site) {
      Coord x = site_coord(site, block_);
      for (int mu = 0; mu < Nd; ++mu) x[mu] += origin[mu] * block_[mu];
      const SitePosition at = layout_->position(x);  // lane 0 has this position
      table_.push_back(int32_t(at.block << 1 | at.parity));
      group_of_[at.parity][size_t(at.block)] = int32_t(group);
    }
  }
}

Coord Aggregates::coarse_lattice() const {
  Coord extents = layout_->geometry().lattice();
  for (int mu = 0; mu < Nd; ++mu) extents[mu] /= block_[mu];
  return extents;
}

Coord Aggregates::coarse_coord(int group, int lane) const {
  Coord x = site_coord(group, groups_per_direction_);
  const Coord lanes = layout_->lane_coord(lane);
  for (int mu = 0; mu < Nd; ++mu) x[mu] += lanes[mu] * groups_per_direction_[mu];
  return x;
}

int Aggregates::group_and_lane(const Coord& coarse) const {
  Coord group, lane;
  for (int mu = 0; mu < Nd; ++mu) {
    lane[mu] = coarse[mu] / groups_per_direction_[mu];
    group[mu] = coarse[mu] % groups_per_direction_[mu];
  }
  return int(site_index(group, groups_per_direction_)) * lanes() +
         int(site_index(lane, layout_->lane_extents()));
}

std::vector<int32_t> Aggregates::sites_by_edge(int mu, bool is_last) const {
  std::vector<int32_t> found;
  for (int site = 0; site < sites(); ++site)
    if ((site_coord(site, block_)[mu] == block_[mu] - 1) == is_last) found.push_back(int32_t(site));
  return found;
}

std::vector<int32_t> Aggregates::all() const {
  std::vector<int32_t> found(static_cast<size_t>(sites()));
  for (int site = 0; site < sites(); ++site) found[size_t(site)] = int32_t(site);
  return found;
}

std::string block_error(const Geometry& geometry, const Coord& block, AggregatesOf kind) {
  for (int mu = 0; mu < Nd; ++mu) {
    if (is_legal(geometry, mu, block[mu], kind)) continue;
    std::string legal;
    for (const int extent : legal_extents(geometry, mu, kind))
      legal += (legal.empty() ? "" : ", ") + std::to_string(extent);
    return message("blocks of ", to_string(block), " do not suit the ",
                   kind == AggregatesOf::sites ? "lattice " : "coarse lattice ",
                   to_string(geometry.lattice()), " over ranks ", to_string(geometry.grid().extents()),
                   ": in the direction ", "xyzt"[mu], " a rank has whole blocks of at least ",
                   kind == AggregatesOf::sites ? "2 sites" : "1 site",
                   ", and the lattice has an even number of blocks; legal extents there: ",
                   legal.empty() ? "none" : legal);
  }
  if (product(block) < 2)
    return message("blocks of ", to_string(block), " have one site of the coarse lattice ",
                   to_string(geometry.lattice()), " each: there is no coarser one");
  return {};
}

namespace {
/// Returns the extents nearest to the wished ones that the whole lattice allows; 0 where there are none.
Coord nearest_extents(const Geometry& geometry, AggregatesOf kind) {
  const Geometry whole(geometry.lattice());
  Coord block{};
  const int wished = wished_extent(kind);
  for (int mu = 0; mu < Nd; ++mu)
    for (const int extent : legal_extents(whole, mu, kind))
      if (block[mu] == 0 || std::abs(extent - wished) < std::abs(block[mu] - wished)) block[mu] = extent;
  return block;
}
}  // namespace

std::optional<Coord> nearest_block(const Geometry& geometry, AggregatesOf kind) {
  const Coord block = nearest_extents(geometry, kind);
  if (!block_error(Geometry(geometry.lattice()), block, kind).empty()) return std::nullopt;
  return block;
}

Coord choose_block(const Geometry& geometry, AggregatesOf kind) {
  const Coord block = nearest_extents(geometry, kind);
  const std::string error = block_error(geometry, block, kind);
  TRELLIS_REQUIRE(error.empty(), error);
  return block;
}

Coord legal_block(const Geometry& geometry, const Coord& wanted, AggregatesOf kind) {
  if (wanted == Coord{0, 0, 0, 0}) return choose_block(geometry, kind);
  const std::string error = block_error(geometry, wanted, kind);
  TRELLIS_REQUIRE(error.empty(), error);
  return wanted;
}

Geometry coarse_geometry(const Geometry& geometry, const Coord& block) {
  Coord extents = geometry.lattice();
  for (int mu = 0; mu < Nd; ++mu) extents[mu] /= block[mu];
  return Geometry(extents, geometry.grid(), geometry.rank());
}

}  // namespace trellis
