#pragma once
/// This is gauge-covariant Gaussian smearing of colour vectors on time slices. It leaves each site of the
/// cubes of 2^3 sites, and with it the taste of staggered quarks, alone: hops lead over two sites. It does
/// this `steps` times with a = width^2 / (16 steps):
///
///   psi(x) <- (1 - 6 a) psi(x) + a sum_{k=x,y,z} [ V_k(x) psi(x+2k) + V_k(x-2k)^dagger psi(x-2k) ]
///   V_k(x) = U_k(x) U_k(x+k)
///
/// It is periodic in space. For width^2 << steps it tends to exp(width^2/4 Laplacian), as the smearing of
/// spinors does: the second difference over two sites is four times the Laplacian (16 = 4 * 4; MILC has the
/// same).
#include "trellis/measure/gaussian_smearing.hpp"

namespace trellis {

/// Smears all right-hand sides of psi: all time slices, or the blocks of one (global) slice, where psi has to
/// be zero on all others. The bits are the same for every process grid, thread count and lane count.
/// Collective.
/// @pre psi is a full field of colour vectors in double; steps >= 1
void smear_two_hops(SpinorField& psi, const GaugeField& links, const GaussianSmearing& smearing,
                    int time = all_times);

}  // namespace trellis
