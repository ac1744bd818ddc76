#pragma once
/// This file has the sources of propagators.
#include "reference/solver.hpp"

namespace trellis::reference {

/// Column (spin, colour) is one at the site `at` and zero elsewhere.
Propagator point_source(const Coord& extents, const Coord& at);

/// Smears time slices by gauge-covariant Gaussian steps, `steps` times with a = width^2 / (4 steps):
///   psi(x) <- (1 - 6 a) psi(x) + a sum_{k=x,y,z} [ U_k(x) psi(x+k) + U_k(x-k)^dagger psi(x-k) ]
/// (periodic in space whatever the boundary phases of the operator are).
SpinorVector gaussian_smeared(const Gauge& U, const SpinorVector& psi, double width, int steps);
Propagator gaussian_smeared(const Gauge& U, const Propagator& S, double width, int steps);

}  // namespace trellis::reference
