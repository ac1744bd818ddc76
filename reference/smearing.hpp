#pragma once
/// This file smears links.
#include <array>

#include "reference/gauge.hpp"

namespace trellis::reference {

/// rho[mu][nu] is the weight of the staples of U_mu in the plane (mu, nu).
using StoutWeights = std::array<std::array<double, Nd>, Nd>;
StoutWeights isotropic_stout(double rho);
/// Smears spatial links alone, by their spatial staples.
StoutWeights spatial_stout(double rho);

/// Returns U'_mu(x) = exp(TA(Omega)) U_mu(x), Omega = sum_nu rho_munu (staples in the plane) U_mu(x)^dagger
/// (Morningstar and Peardon 2004), with all links from the old field, `levels` times.
Gauge stout_smeared(const Gauge& U, const StoutWeights& rho, int levels = 1);

/// Returns U'_mu(x) = P[ (1 - alpha) U_mu(x) + (alpha / n) sum of the n staples ], `levels` times. With
/// is_spatial_only it takes spatial links from their n = 4 spatial staples; else all links and n = 6. P is
/// the nearest SU(3) matrix.
Gauge ape_smeared(const Gauge& U, double alpha, int levels, bool is_spatial_only);

/// Returns the SU(3) matrix W with the largest Re tr(W A^dagger), by SU(2) rotations of rows until nothing
/// changes.
ColorMatrix<double> nearest_su3(const ColorMatrix<double>& A);

}  // namespace trellis::reference
