#pragma once
/// The stencil has the neighbours at a distance of one or three sites in the even-odd order, and says which
/// of them other ranks send. A ghost block holds, lane by lane, the true neighbours of one block across the
/// face of the rank: lanes of this rank beside received ones.
#include <memory>

#include "trellis/lattice/site_layout.hpp"

namespace trellis {

class HopStencil {
 public:
  /// Table entries are index << 3 | moves << 1 | is_ghost, where moves says over how many sub-lattices the
  /// lanes move (0..2).
  static constexpr int ghost_bit = 1, moves_shift = 1, index_shift = 3, largest_move = 2;

  /// @pre distance 1 or 3; local extents of directions that ranks split >= distance + 1 (3: at least 4), and
  /// unsplit ones even
  HopStencil(SiteLayoutPtr layout, int distance);

  const SiteLayoutPtr& layout_ptr() const { return layout_; }
  const SiteLayout& layout() const { return *layout_; }
  int distance() const { return distance_; }

  /// Returns the table [block][leg] for blocks of the given parity.
  const std::vector<int32_t>& table(int parity) const { return table_[parity]; }
  /// Returns the table [leg][moves - 1][16]: lane i of a moved block is lane permutation[i]; it is 64-byte
  /// aligned.
  const int32_t* permutations() const { return permutations_->source[0][0]; }
  /// List blocks without and with a ghost among their neighbours.
  const std::vector<int32_t>& inner(int parity) const { return inner_[parity]; }
  const std::vector<int32_t>& border(int parity) const { return border_[parity]; }

  /// A delivery says where a lane of a source block goes: to a position in the message (>= 0), or to ~(ghost
  /// * lanes + lane) on this rank.
  struct Delivery {
    int32_t lane, to;
  };
  /// A face has the ghosts of one leg of the blocks of one parity. Blocks `sources` (of the other parity) are
  /// computed whole; deliveries first[i]..first[i+1]-1 are theirs. Position k of the received message goes to
  /// lane arrivals[k] % lanes of ghost block arrivals[k] / lanes.
  struct Face {
    int ghosts = 0;
    std::vector<int32_t> sources, first, arrivals;
    std::vector<Delivery> deliveries;
  };
  const Face& face(int parity, int leg) const { return faces_[parity][leg]; }

 private:
  struct alignas(64) Permutations {
    int32_t source[legs][largest_move][16];
  };
  void build_permutations();
  void build(int parity);
  void build_face(int parity, int leg, const std::vector<int32_t>& blocks);
  SiteLayoutPtr layout_;
  int distance_;
  std::unique_ptr<Permutations> permutations_;
  std::vector<int32_t> table_[2], inner_[2], border_[2];
  Face faces_[2][legs];
};

using HopStencilPtr = std::shared_ptr<const HopStencil>;

}  // namespace trellis
