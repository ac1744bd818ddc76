#pragma once
/// Fermion fields have an even-odd site order: for each parity, blocks of `lanes` sites in lexicographic
/// order of the sub-lattice (x halved), with the neighbour table that the hopping kernels read.
#include <cstdint>
#include <memory>
#include <vector>

#include "trellis/lattice/lane_split.hpp"

namespace trellis {

/// This is the even-odd position of a site; the parity is that of its global coordinates.
struct SitePosition {
  int parity, block, lane;
};

/// A leg of a nearest-neighbour stencil leads to x+mu (leg = 2 mu) or to x-mu (leg = 2 mu + 1).
inline constexpr int legs = 2 * Nd;
inline int leg_of(int mu, int step) { return 2 * mu + (step > 0 ? 0 : 1); }

class SiteLayout {
 public:
  /// Neighbour table entries are block index << 2 | is_ghost << 1 | crosses.
  static constexpr int crosses_bit = 1, ghost_bit = 2, index_shift = 2;

  SiteLayout(const Geometry& geometry, int lanes);

  const Geometry& geometry() const { return geometry_; }
  int lanes() const { return lanes_; }
  const Coord& lane_extents() const { return split_.lanes_per_direction; }
  const Coord& sub_extents() const { return sub_; }
  /// Counts the blocks of a parity. The counts differ where all local extents are odd; blocks() is the larger
  /// one.
  int blocks(int parity) const { return blocks_of_[parity]; }
  int blocks() const { return blocks_of_[0] > blocks_of_[1] ? blocks_of_[0] : blocks_of_[1]; }

  SitePosition position(const Coord& local) const;
  Coord coord(const SitePosition& at) const;  ///< returns local coordinates

  /// Returns the table [block][leg], for blocks of the given parity; -1 where the lattice has an extent of 1.
  const std::vector<int32_t>& neighbours(int parity) const { return neighbours_[parity]; }
  /// Lane i of a neighbour across the edge of the sub-lattice is lane permutation(leg)[i] of the block.
  const int32_t* permutation(int leg) const { return permutation_[leg].source; }
  bool permutes(int leg) const { return split_.lanes_per_direction[leg / 2] > 1; }
  /// Returns whether lane i of a crossing neighbour lies beyond the local lattice (on the next rank, or
  /// around the torus).
  bool leaves_rank(int leg, int lane) const;
  Coord lane_coord(int lane) const { return site_coord(lane, split_.lanes_per_direction); }

  /// Lists the blocks of the given parity that touch the face of a leg (x_mu = last for +mu, 0 for -mu), in
  /// the order of their transverse coordinates. Ghost block i of the leg belongs to face block i.
  const std::vector<int32_t>& face(int parity, int leg) const { return faces_[parity][leg]; }
  /// List blocks without and with a neighbour on another rank.
  const std::vector<int32_t>& inner(int parity) const { return inner_[parity]; }
  const std::vector<int32_t>& border(int parity) const { return border_[parity]; }

 private:
  struct alignas(64) Permutation {
    int32_t source[16];
  };
  void build_permutations();
  void build_faces();
  void build_neighbours(int parity);
  int block_of(const Coord& sub) const;
  Coord sub_coord(int parity, int block) const;

  Geometry geometry_;
  LaneSplit split_;
  Coord sub_;
  int lanes_, blocks_of_[2], origin_parity_;
  Permutation permutation_[legs];
  std::vector<int32_t> neighbours_[2], faces_[2][legs], inner_[2], border_[2];
};

using SiteLayoutPtr = std::shared_ptr<const SiteLayout>;

}  // namespace trellis
