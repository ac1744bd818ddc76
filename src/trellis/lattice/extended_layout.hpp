#pragma once
/// Gauge fields have this order of sites: all sites (both parities) of the sub-lattice lie in lexicographic
/// blocks, with a halo of `width` blocks in the directions that ranks split. Steps in the other directions
/// wrap around and move lanes. A ghost block holds, lane by lane, the true neighbours: local lanes beside
/// received ones.
#include <cstdint>
#include <memory>
#include <vector>

#include "trellis/lattice/lane_split.hpp"

namespace trellis {

class ExtendedLayout {
 public:
  /// @pre local extents in split directions >= width (a lane's part of them may be shorter)
  ExtendedLayout(const Geometry& geometry, int lanes, int width);

  const Geometry& geometry() const { return geometry_; }
  int lanes() const { return lanes_; }
  int width() const { return width_; }
  const Coord& sub_extents() const { return sub_; }
  const Coord& lane_extents() const { return split_.lanes_per_direction; }
  int blocks() const { return blocks_; }  ///< counts those of the halo, too

  /// Returns the block of a sub-lattice coordinate, which goes from -width to sub + width - 1 in split
  /// directions.
  int block_of(const Coord& sub) const;
  int block_at(const Coord& local) const;  ///< returns the block of an inner site
  int lane_at(const Coord& local) const;
  Coord lane_coord(int lane) const { return site_coord(lane, split_.lanes_per_direction); }
  /// Returns the local coordinates of an inner site.
  Coord coord(int block, int lane) const;

  /// List the inner blocks: all, and those of one parity.
  const std::vector<int32_t>& inner() const { return inner_; }
  const std::vector<int32_t>& inner(int parity) const { return inner_of_[parity]; }

  /// Returns the table [block][leg]: block << 1 | crosses; -1 beyond the halo. Where it crosses, the lanes
  /// move by one in that direction.
  const std::vector<int32_t>& neighbours() const { return neighbours_; }
  /// Returns the displacement of lanes of one step. It is numbered by the lane that it brings to lane 0.
  int shift(int leg) const { return shift_[leg]; }
  /// Returns the table [shift][shift], which has the sum of both.
  const std::vector<int32_t>& shift_sums() const { return shift_sums_; }
  /// Returns the table [shift][16]: lane i of the displaced block is lane permutation[shift][i].
  const int32_t* permutations() const { return permutations_->source[0]; }

 private:
  struct alignas(64) Permutations {
    int32_t source[16][16];
  };
  void build_shifts();
  void build_blocks();
  Geometry geometry_;
  LaneSplit split_;
  Coord sub_, halo_, extended_;
  int lanes_, width_, blocks_;
  std::vector<int32_t> inner_, inner_of_[2], neighbours_, shift_sums_;
  int shift_[8];
  std::unique_ptr<Permutations> permutations_;
};

using ExtendedLayoutPtr = std::shared_ptr<const ExtendedLayout>;

}  // namespace trellis
