#pragma once
/// No field has this memory of the GPU; the process keeps it for the next ones.
#include <cstddef>

namespace trellis::cuda {

/// @pre there is a GPU
size_t bytes_of_freed_fields();

}  // namespace trellis::cuda
