#pragma once
/// What random numbers of spins are for. Frozen: see doc/random_numbers.md.
#include "trellis/algebra/random.hpp"

namespace trellis {

inline constexpr RandomPurpose spin_heatbath_numbers{13}, spin_start_numbers{14}, spin_coupling_numbers{15},
    spin_tempering_numbers{16};

}  // namespace trellis
