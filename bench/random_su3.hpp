#pragma once
/// Well mixed special unitary links for benchmarks, from a hash of the site: the same for every run.
#include "trellis/field/gauge_field.hpp"

namespace trellis::bench {

/// Random SU(3) links (Gram-Schmidt of hashed numbers), the same on any number of ranks.
void fill_random_su3(GaugeField& U, unsigned seed);

}  // namespace trellis::bench
