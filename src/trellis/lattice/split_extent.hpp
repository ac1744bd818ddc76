#pragma once
/// Gauge fields, quarks and stencils wider than one site ask this of the lattice and of the process grid.
#include "trellis/lattice/geometry.hpp"

namespace trellis {

/// Throws BadArgument unless every local extent in directions that ranks split is at least `least`; the
/// message names `user` ("a halo of 3 sites"), the local lattice, and the legal grids or rank counts.
void require_split_extents(const Geometry& geometry, int least, const std::string& user);

/// Throws BadArgument where a local extent is odd because ranks split the lattice so; the message has the
/// legal grids.
void require_even_parts(const Geometry& geometry, const std::string& user);

/// Throws BadArgument where the lattice has an extent of 1, which has neither hops nor planes.
void require_all_directions(const Geometry& geometry, const std::string& user);

/// Throws BadArgument where an edge of the lattice is open or a wall.
void require_periodic(const Geometry& geometry, const std::string& user);

}  // namespace trellis
