#pragma once
/// This file has the global lattice, how it is cut over ranks, and the maps between site numberings. The code
/// computes with integers only.
#include <string>
#include <vector>

#include "trellis/lattice/boundary.hpp"

namespace trellis {

/// A process grid says how ranks are placed in four dimensions. By default x runs fastest; any other map may
/// be given.
class ProcessGrid {
 public:
  ProcessGrid() : ProcessGrid(Coord{1, 1, 1, 1}) {}
  /// @pre all extents >= 1; rank_at, when given, is a permutation of 0..product(extents)-1, indexed by
  /// site_index(coord, extents).
  explicit ProcessGrid(const Coord& extents, std::vector<int> rank_at = {});

  const Coord& extents() const { return extents_; }
  int size() const { return int(rank_at_.size()); }
  bool operator==(const ProcessGrid& other) const {
    return extents_ == other.extents_ && rank_at_ == other.rank_at_;
  }
  int rank_of(Coord coord) const;  ///< coordinates are taken modulo the extents
  Coord coord_of(int rank) const;

 private:
  Coord extents_;
  std::vector<int> rank_at_;
  std::vector<int> index_of_;
};

/// A cut may leave these local extents: even ones, as gauge fields and quarks need them, or any.
enum class LocalExtents { even, any };

/// Returns every grid of `ranks` processes with local extents of at least `min_split_extent` in split
/// directions. A direction with an extent of 1 is not split.
std::vector<Coord> legal_process_grids(const Coord& lattice, int ranks, int min_split_extent = 2,
                                       LocalExtents local = LocalExtents::even);

/// Lists the grids with even local extents, at most twelve of them, for messages.
std::string legal_grids_in_words(const Coord& lattice, int ranks);

/// Returns the legal grid with even local extents and the least halo surface (of equal ones, the one that
/// cuts later directions first). It is one of those that leave room for stencils of three links, as HISQ has
/// them, where there are any.
/// Throws BadArgument that lists the legal rank counts when there is none.
Coord choose_process_grid(const Coord& lattice, int ranks, int min_split_extent = 2);

/// Returns the grid with ranks of a node side by side: each node has a box of it, of the shape with the least
/// halo surface between nodes. `nodes` has a number for the node of each rank; ranks run in their own order,
/// x fastest, where there is one node, or nodes do not have as many ranks each as a box.
ProcessGrid group_by_node(const Coord& lattice, const Coord& grid, const std::vector<int>& nodes);

/// A geometry is one rank's part of the lattice. Local extents may be odd (gauge fields and quarks refuse
/// that: lattice/split_extent.hpp); parities are those of global coordinates.
class Geometry {
 public:
  /// @pre lattice extents even or 1; the grid divides them; rank in range.
  explicit Geometry(const Coord& lattice, ProcessGrid grid = ProcessGrid{}, int rank = 0,
                    const Boundary& boundary = periodic_boundary);

  const Coord& lattice() const { return lattice_; }
  const Coord& local() const { return local_; }
  const Coord& origin() const { return origin_; }  ///< returns global coordinates of the first local site
  const ProcessGrid& grid() const { return grid_; }
  const Boundary& boundary() const { return boundary_; }
  int rank() const { return rank_; }
  int64_t volume() const { return product(lattice_); }
  int64_t local_volume() const { return product(local_); }
  bool is_split(int mu) const { return grid_.extents()[mu] > 1; }
  /// Returns the rank of the neighbour in direction mu, step = +1 or -1 (itself where mu is not split).
  int neighbour_rank(int mu, int step) const;
  /// Returns the rank of the process `steps` further on in each direction, modulo the grid.
  int rank_at(const Coord& steps) const;
  /// Returns true when the neighbour in direction mu, step, lies across the global boundary.
  bool at_boundary(int mu, int step) const;
  bool owns(const Coord& global) const;
  Coord to_local(const Coord& global) const;
  Coord to_global(const Coord& local) const;
  /// Returns the index of a site in the whole lattice, x fastest, which is the key of random numbers and
  /// checksums.
  int64_t global_index(const Coord& local) const { return site_index(to_global(local), lattice_); }

  bool operator==(const Geometry& other) const;

 private:
  Coord lattice_, local_, origin_;
  ProcessGrid grid_;
  Boundary boundary_;
  int rank_;
  Coord rank_coord_;
};

}  // namespace trellis
