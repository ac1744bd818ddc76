#pragma once
/// A Lattice is where fields live: one rank's geometry, the ranks that share it, and the site orders in use.
#include <map>
#include <memory>
#include <mutex>

#include "trellis/comm/communicator.hpp"
#include "trellis/field/gauge_tables.hpp"
#include "trellis/field/site_tables.hpp"
#include "trellis/lattice/extended_layout.hpp"
#include "trellis/lattice/site_layout.hpp"

namespace trellis {

class Lattice {
 public:
  /// @pre the grid of the geometry has as many processes as the communicator.
  Lattice(const Geometry& geometry, CommunicatorPtr communicator);

  const Geometry& geometry() const { return geometry_; }
  Communicator& communicator() const { return *communicator_; }
  const CommunicatorPtr& communicator_ptr() const { return communicator_; }
  const Coord& extents() const { return geometry_.lattice(); }
  int64_t volume() const { return geometry_.volume(); }

  /// Returns the even-odd order with (at most) so many lanes; it is built at the first request.
  SiteLayoutPtr layout(int lanes) const;
  /// Returns the order of gauge fields, with a halo in split directions.
  ExtendedLayoutPtr extended_layout(int lanes, int width) const;
  /// Returns that order where the kernels of a backend can read it.
  GaugeTablesPtr gauge_tables(int lanes, int width, Backend backend) const;
  /// Returns what the kernels of a backend need of an even-odd order of this lattice.
  SiteTablesPtr site_tables(const SiteLayoutPtr& layout, Backend backend) const;

 private:
  Geometry geometry_;
  CommunicatorPtr communicator_;
  mutable std::mutex mutex_;
  mutable std::map<int, SiteLayoutPtr> layouts_;
  mutable std::map<std::pair<int, int>, ExtendedLayoutPtr> extended_;
  mutable std::map<std::pair<ExtendedLayoutPtr, Backend>, GaugeTablesPtr> gauge_tables_;
  mutable std::map<std::pair<SiteLayoutPtr, Backend>, SiteTablesPtr> site_tables_;
};

using LatticePtr = std::shared_ptr<const Lattice>;

/// Makes a lattice over all ranks of `communicator` (default: world()); grid {0,0,0,0} chooses the one with
/// the least halo surface; ranks of a node lie side by side on it. Lattices that are cut alike are one as
/// long as one is in use, so that fields that were made apart, read from two files for example, meet. Throws
/// BadArgument with the legal grids when it cannot be cut.
LatticePtr make_lattice(const Coord& extents, Coord grid = {0, 0, 0, 0},
                        CommunicatorPtr communicator = nullptr, const Boundary& boundary = periodic_boundary);

}  // namespace trellis
