#pragma once
/// Smearing of links makes a new field from an old one, all links at once. The bits are the same however the
/// lattice is cut. Collective.
#include <array>

#include "trellis/field/link_derivative.hpp"
#include "trellis/kernels/gauge/ape_smearing.hpp"

namespace trellis {

/// The weight of the staples of U_mu in the plane (mu, nu) is rho[mu][nu]; the diagonal is not used.
using StoutWeights = std::array<std::array<double, Nd>, Nd>;
StoutWeights isotropic_stout(double rho);
/// Returns weights that smear spatial links by their spatial staples; temporal links stay as they are.
StoutWeights spatial_stout(double rho);

/// Smears `levels` times with U' = exp(TA(C U^dagger)) U, C = sum_nu rho_munu (staples in the plane) (C.
/// Morningstar and M. Peardon, Phys. Rev. D69 (2004) 054501). @pre levels >= 0
GaugeField stout_smear(const GaugeField& U, const StoutWeights& rho, int levels);
GaugeField stout_smear(const GaugeField& U, double rho, int levels);

/// Does one level: out gets the smeared links of in; C goes to `staples` unless that is null. @pre out and in
/// are different fields, alike, staples too; finite weights
void stout_level(GaugeField& out, const GaugeField& in, const StoutWeights& rho,
                 LinkDerivative* staples = nullptr);

struct ApeParams {
  double alpha = 0.5;  ///< U' = P[(1 - alpha) U + (alpha / n) (sum of the n staples)], n = 6, or 4 if spatial
  int levels = 1;
  bool is_spatial_only = false;
  Su3Projection projection = Su3Projection::maximal_trace;
};

/// Does APE smearing (M. Albanese et al. 1987), with the weights of ApeParams. @pre levels >= 0
GaugeField ape_smear(const GaugeField& U, const ApeParams& params);

}  // namespace trellis
