#include "trellis/lattice/aggregates.hpp"

#include <cmath>
#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {

/// Extents of blocks in one direction: an even number of blocks on the lattice, and whole ones on a rank.
bool is_legal(const Geometry& geometry, int mu, int extent) {
  return extent >= 2 && geometry.local()[mu] % extent == 0 && geometry.lattice()[mu] / extent % 2 == 0;
}

std::vector<int> legal_extents(const Geometry& geometry, int mu) {
  std::vector<int> legal;
  for (int extent = 2; extent <= geometry.local()[mu]; ++extent)
    if (is_legal(geometry, mu, extent)) legal.push_back(extent);
  return legal;
}

}  // namespace

bool Aggregates::fit(const SiteLayout& layout, const Coord& block) {
  for (int mu = 0; mu < Nd; ++mu)
    if (layout.sub_extents()[mu] % block[mu] != 0) return false;
  return true;
}

Aggregates::Aggregates(SiteLayoutPtr layout, const Coord& block) : layout_{std::move(layout)}, block_{block} {
  const std::string error = block_error(layout_->geometry(), block);
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
      const SitePosition at = layout_->position(x);  // of lane 0
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

std::string block_error(const Geometry& geometry, const Coord& block) {
  for (int mu = 0; mu < Nd; ++mu) {
    if (is_legal(geometry, mu, block[mu])) continue;
    std::string legal;
    for (const int extent : legal_extents(geometry, mu))
      legal += (legal.empty() ? "" : ", ") + std::to_string(extent);
    return message("blocks of ", to_string(block), " do not suit the lattice ", to_string(geometry.lattice()),
                   " over ranks ", to_string(geometry.grid().extents()), ": in the direction ", "xyzt"[mu],
                   " a rank has whole blocks of at least 2 sites, and the lattice has an even number of "
                   "blocks; legal extents there: ",
                   legal.empty() ? "none" : legal);
  }
  return {};
}

Coord choose_block(const Geometry& geometry) {
  Coord block{};
  for (int mu = 0; mu < Nd; ++mu) {
    const std::vector<int> legal = legal_extents(geometry, mu);
    TRELLIS_REQUIRE(!legal.empty(), block_error(geometry, {0, 0, 0, 0}));
    for (const int extent : legal)
      if (block[mu] == 0 || std::abs(extent - 4) < std::abs(block[mu] - 4)) block[mu] = extent;
  }
  return block;
}

Coord legal_block(const Geometry& geometry, const Coord& wanted) {
  if (wanted == Coord{0, 0, 0, 0}) return choose_block(geometry);
  const std::string error = block_error(geometry, wanted);
  TRELLIS_REQUIRE(error.empty(), error);
  return wanted;
}

}  // namespace trellis
