#pragma once
/// Fields to run benchmarks on: the same for every run and any number of ranks.
#include "reference/gauge.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis::bench {

/// Random SU(3) links (Gram-Schmidt of hashed numbers), well mixed.
void fill_random_su3(GaugeField& U, unsigned seed);

/// Numbers of order one in all slots.
void fill(SpinorField& field);

/// @pre one rank
reference::Gauge to_reference(const GaugeField& U);

}  // namespace trellis::bench
