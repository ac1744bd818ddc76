#pragma once
/// The stream that launches of this thread go to; null is the main one.
#include <cuda_runtime.h>

namespace trellis::cuda {

cudaStream_t launch_stream();

}  // namespace trellis::cuda
