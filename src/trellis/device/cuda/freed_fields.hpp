#pragma once
/// Memory of the GPU that no field has and that this process keeps for the next ones.
#include <cstddef>

namespace trellis::cuda {

/// @pre there is a GPU
size_t bytes_of_freed_fields();

}  // namespace trellis::cuda
