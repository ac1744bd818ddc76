#pragma once
/// Gauge-covariant Gaussian smearing of fermion fields on time slices does this `steps` times, with a =
/// width^2 / (4 steps):
///
///   psi(x) <- (1 - 6 a) psi(x) + a sum_{k=x,y,z} [ U_k(x) psi(x+k) + U_k(x-k)^dagger psi(x-k) ]
///
/// It is periodic in space, whatever the boundary phases of the operator are (Gusken et al. 1990, in the form
/// of Chroma's GAUGE_INV_GAUSSIAN; for width^2 << steps it tends to exp(width^2/4 Laplacian)).
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis {

struct GaussianSmearing {
  double width = 0.0;
  int steps = 1;
};

inline constexpr int all_times = -1;
inline constexpr int spatial_directions = 3;

/// Smears all right-hand sides of psi on one (global) time slice or on all of them; other slices keep their
/// bits. The bits are the same for every process grid, thread count and lane count.
/// @pre psi is full and in double; steps >= 1
void smear_gaussian(SpinorField& psi, const GaugeField& links, const GaussianSmearing& smearing,
                    int time = all_times);

}  // namespace trellis
