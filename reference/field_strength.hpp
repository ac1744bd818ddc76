#pragma once
/// Lattice field strengths are sums of leaves around a site (doc/conventions.md, Smearing and flow, and Gamma
/// matrices and Wilson fermions).
#include "reference/gauge.hpp"

namespace trellis::reference {

/// Returns the sum of the four 1x1 loops that begin and end at x in the plane (mu, nu), all with the
/// orientation mu -> nu.
ColorMatrix<double> clover_leaves(const Gauge& U, int64_t site, int mu, int nu);
/// Returns the sum of the eight 2x1 and 1x2 loops, which have the same orientation.
ColorMatrix<double> rectangle_leaves(const Gauge& U, int64_t site, int mu, int nu);

/// Returns F_munu = (Q - Q^dagger) / 8 with Q = clover_leaves. The trace is kept.
ColorMatrix<double> clover_field_strength(const Gauge& U, int64_t site, int mu, int nu);
/// Returns F_munu = (R - R^dagger) / 16 with R = rectangle_leaves. The trace is kept.
ColorMatrix<double> rectangle_field_strength(const Gauge& U, int64_t site, int mu, int nu);
/// Returns F_munu = (P - P^dagger) / 2 with the one plaquette at x. The trace is kept.
ColorMatrix<double> plaquette_field_strength(const Gauge& U, int64_t site, int mu, int nu);

}  // namespace trellis::reference
