#pragma once
/// Markov chains begin with the links that are made here, and links come back to SU(3). The bits are the same
/// however the lattice is cut.
#include <cstdint>

#include "trellis/field/gauge_field.hpp"

namespace trellis {

/// Sets unit links.
void set_cold(GaugeField& U);
/// Draws every link with Haar's measure.
void set_hot(GaugeField& U, uint64_t seed, uint64_t stream = 0);
/// Draws links exp(size sum_a p_a T_a) with normal p_a of unit variance, which are close to 1 for a small
/// size.
void set_weak(GaugeField& U, double size, uint64_t seed, uint64_t stream = 0);
/// Brings every link back to SU(3) (Gram and Schmidt on the rows); rounding errors of a long chain are of
/// that order.
void reunitarise_links(GaugeField& U);

}  // namespace trellis
