#pragma once
/// What stencils wider than one site ask of the process grid.
#include "trellis/lattice/geometry.hpp"

namespace trellis {

/// Throws BadArgument unless every local extent in directions that ranks split is at least `least`; the
/// message names `user` ("a halo of 3 sites"), the local lattice, and the legal grids or rank counts.
void require_split_extents(const Geometry& geometry, int least, const std::string& user);

}  // namespace trellis
