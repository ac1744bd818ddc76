#pragma once
/// A lattice is cut into equal blocks: the blocks of the Schwarz method and the aggregates of coarsening.
#include <vector>

#include "trellis/lattice/geometry.hpp"

namespace trellis::reference {

class Blocks {
 public:
  /// @pre the extents of a block divide those of the lattice
  Blocks(const Coord& lattice, const Coord& block);

  const Coord& lattice() const { return lattice_; }
  const Coord& block() const { return block_; }
  const Coord& grid() const {
    return grid_;
  }  ///< these are the blocks in each direction: the extents of the coarse lattice
  int64_t count() const { return product(grid_); }
  /// The index of a site's block is the lexicographic index of the block's coordinates, site / block.
  int64_t block_of(int64_t site) const { return block_of_[size_t(site)]; }
  /// Returns the parity of the block's coordinates: red = 0, black = 1.
  int colour(int64_t block) const { return site_parity(site_coord(block, grid_)); }
  const std::vector<int64_t>& sites(int64_t block) const { return sites_[size_t(block)]; }
  /// Returns true when a step leads into another block. Where one block spans a direction no step leaves it.
  bool leaves(int64_t site, int step) const;

 private:
  Coord lattice_, block_, grid_;
  std::vector<int64_t> block_of_;
  std::vector<std::vector<int64_t>> sites_;
};

}  // namespace trellis::reference
