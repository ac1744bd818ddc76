#pragma once
/// Sites are ordered block by block: each block is a lattice of its own, with its lanes inside. The Schwarz
/// method goes from block to block, and a block fits a core's own cache. The code computes with integers
/// only.
///
/// Blocks of one colour follow those of the other. A site of kernels is a vector of lanes, and those of a
/// block lie together: a vector has the number block * inner().blocks() + its number in the block, for each
/// parity.
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

class BlockOrder {
 public:
  /// @param lanes this is the largest number; fewer are taken where they do not divide a block
  /// @throws BadArgument where block_order_error() is not empty
  BlockOrder(const Geometry& geometry, const Coord& block, int lanes);

  const Geometry& geometry() const { return geometry_; }
  const Coord& block() const { return inner_.geometry().lattice(); }
  /// Returns the order of sites inside any block. Legs that leave it lead around it.
  const SiteLayout& inner() const { return inner_; }
  int lanes() const { return inner_.lanes(); }
  int blocks() const { return int(origins_.size()); }
  /// Counts the vectors of a parity in all blocks of this rank.
  int vectors() const { return blocks() * inner_.blocks(); }

  /// Returns the first block of a colour, which is 0 or 1: the parity of the coordinates of the block on the
  /// lattice. The blocks first(colour) .. first(colour + 1) - 1 have that colour.
  int first(int colour) const { return first_[colour]; }
  const Coord& origin(int block) const { return origins_[size_t(block)]; }  ///< returns local coordinates
  /// Returns the local coordinates of a site.
  Coord coord(int parity, int vector, int lane) const;

  /// Returns the table [block][leg]: the block behind a leg, or ~n where another rank has it, as number n of
  /// the face.
  const std::vector<int32_t>& neighbours() const { return neighbours_; }
  /// Returns true where a leg of a block leads around the lattice.
  bool is_at_boundary(int block, int leg) const;
  /// Lists the blocks of a colour at the face of this rank behind which a leg leads to another rank, in the
  /// order of their other coordinates. Block n there and the neighbour's block with the number n face each
  /// other.
  const std::vector<int32_t>& face(int colour, int leg) const { return faces_[colour][leg]; }
  /// List a block's vectors, of a parity, from which a leg leaves it, and the number of each among them.
  const std::vector<int32_t>& edge(int parity, int leg) const { return inner_.face(parity, leg); }
  std::vector<int32_t> number_in_edge(int parity, int leg) const;

  /// Lists the vectors of a parity and lanes of a block, [k] = vector * lanes() + lane, in the lexicographic
  /// order of its sites. Sums go in this order, whatever the lanes are.
  std::vector<int32_t> in_order_of_sites(int parity) const;

 private:
  Geometry geometry_;
  SiteLayout inner_;
  Coord grid_;  ///< this rank has so many blocks in each direction
  int first_[3] = {0, 0, 0};
  std::vector<Coord> origins_;
  std::vector<int32_t> neighbours_, faces_[2][legs];
};

/// Says why a lattice has no such blocks, with the legal ones. It is empty where the lattice has such blocks.
std::string block_order_error(const Geometry& geometry, const Coord& block);

}  // namespace trellis
