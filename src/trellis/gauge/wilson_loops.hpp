#pragma once
/// Wilson loops lie along the axes.
#include <string>
#include <vector>

#include "trellis/field/gauge_field.hpp"

namespace trellis {

/// Says which (mu, nu) the loops R long in mu and T long in nu have.
enum class LoopPlanes {
  temporal,  ///< mu is spatial, nu = t
  spatial,   ///< mu != nu are both spatial
  all        ///< these are all twelve
};
/// Throws BadArgument for an unknown name, with the legal ones.
LoopPlanes loop_planes_of(const std::string& name);

/// Returns W(R, T), R = 1 .. spatial_extent, T = 1 .. temporal_extent, at [R - 1][T - 1]: the mean of Re tr /
/// 3 over sites and planes,
///
///   W(R, T) = Re tr P Q^dagger / 3,  P(x): first R links in mu, then T in nu;  Q(x): first T, then R.
///
/// P and Q grow link by link at their beginnings, P_R(x) = U_mu(x) P_{R-1}(x + mu), so that halos of one
/// layer are enough. The bits are the same for every process grid, thread count and lane count. They take
/// about 430 R T flops a site and plane. Loops may wrap around the lattice. Collective. @pre both extents at
/// least 1
std::vector<std::vector<double>> wilson_loops(const GaugeField& U, int spatial_extent, int temporal_extent,
                                              LoopPlanes planes = LoopPlanes::temporal);

}  // namespace trellis
