#pragma once
/// Aggregates of multigrid are equal boxes of sites, each of which is one site of a coarse lattice. The code
/// computes with integers only.
///
/// The lanes of a block of sites lie in as many aggregates, side by side, which form a group. Kernels go from
/// group to group, through the sites of an aggregate in the order of their coordinates, so that sums over an
/// aggregate do not depend on lanes or ranks.
#include <optional>

#include "trellis/lattice/site_layout.hpp"

namespace trellis {

/// Aggregates consist of lattice sites, with extents of at least 2, or of sites of a coarse lattice; then
/// they may be one site wide in some directions.
enum class AggregatesOf { sites, coarse_sites };

class Aggregates {
 public:
  /// @param layout is that of the fine fields
  /// @param block has the extents of an aggregate
  /// @pre fit(layout, block); the geometry has block_error(.., kind) empty
  Aggregates(SiteLayoutPtr layout, const Coord& block, AggregatesOf kind = AggregatesOf::sites);

  /// Returns true where the lanes of the layout lie in different aggregates, none of which is cut.
  static bool fit(const SiteLayout& layout, const Coord& block);

  const SiteLayoutPtr& layout_ptr() const { return layout_; }
  const SiteLayout& layout() const { return *layout_; }
  const Coord& block() const { return block_; }
  int sites() const { return int(product(block_)); }  ///< counts those of an aggregate
  int groups() const { return groups_; }
  int lanes() const { return layout_->lanes(); }
  Coord coarse_lattice() const;
  /// Finds local coordinates on the coarse lattice of the aggregate in a lane of a group, and the other way.
  Coord coarse_coord(int group, int lane) const;
  int group_and_lane(const Coord& coarse) const;  ///< returns group * lanes() + lane

  /// Returns the table [group][site]: block of the layout << 1 | parity.
  const std::vector<int32_t>& table() const { return table_; }
  /// Returns the group of each [block] of a parity.
  const std::vector<int32_t>& group_of(int parity) const { return group_of_[parity]; }
  /// List the sites of an aggregate, as numbers in its order, whose forward neighbour in the direction mu
  /// lies in the same aggregate, and the others.
  std::vector<int32_t> inner(int mu) const { return sites_by_edge(mu, false); }
  std::vector<int32_t> face(int mu) const { return sites_by_edge(mu, true); }
  std::vector<int32_t> all() const;

 private:
  std::vector<int32_t> sites_by_edge(int mu, bool is_last) const;
  SiteLayoutPtr layout_;
  Coord block_, groups_per_direction_;
  int groups_;
  std::vector<int32_t> table_, group_of_[2];
};

/// Says why a lattice cannot be cut into aggregates of these extents, with the legal ones. It is empty where
/// it can.
std::string block_error(const Geometry& geometry, const Coord& block,
                        AggregatesOf kind = AggregatesOf::sites);
/// Returns the block nearest to 4^4 sites, or to 2^4 of a coarse lattice, that the whole lattice allows, on
/// any ranks: results would depend on them. Returns nothing where there is none.
std::optional<Coord> nearest_block(const Geometry& geometry, AggregatesOf kind);
/// Returns the same block. Run files have the same rule (python/trellis/run_files/multigrid.py), and a test
/// compares both.
/// @throws BadArgument where there is none, or ranks cut it; the message names the legal ones
Coord choose_block(const Geometry& geometry, AggregatesOf kind = AggregatesOf::sites);
/// Returns the wanted block, or where its extents are 0 the one that choose_block() takes.
/// @throws BadArgument where the lattice cannot be cut like that
Coord legal_block(const Geometry& geometry, const Coord& wanted, AggregatesOf kind = AggregatesOf::sites);
/// Returns the geometry of the coarse lattice whose sites are the aggregates.
Geometry coarse_geometry(const Geometry& geometry, const Coord& block);

}  // namespace trellis
