#pragma once
/// These functions say how sites lie in the memory of a backend, for code that makes buffers and tables
/// beside fields.
#include <cstddef>

#include "trellis/base/precision.hpp"

namespace trellis {

/// Returns true if a block in memory is a vector of lanes; elsewhere groups of 32 sites with one lane lie
/// together.
bool has_lane_blocks(Backend backend);
/// Returns the blocks in memory for so many of a layout, which are whole groups.
int stored_blocks(Backend backend, int blocks);
/// Throws BadArgument for backends that have no kernels for gauge fields.
void require_gauge_backend(Backend backend);

}  // namespace trellis
