#pragma once
/// Fermion fields are converted between storages and lane counts in host memory.
#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// Sets out = in, rounded to out's storage. It moves 2 fields; sites are gathered from where the other lane
/// split has them. @pre same lattice, subset, right-hand sides and reals; neither is on a GPU
void convert_on_host(SpinorField& out, const SpinorField& in);

}  // namespace trellis
