#pragma once
/// These functions say where launches of this thread go, and check each of them.

#include <typeinfo>

#include "trellis/device/cuda/accelerator.hpp"

namespace trellis::cuda {

/// Returns the stream of this thread's launches; null is the main one. The thread has the GPU of the process
/// from here on: CUDA keeps a choice for each thread of the host.
cudaStream_t launch_stream();

/// Throws Error, with the kernel's name, if the launch just made failed; where TRELLIS_GPU_CHECK is 1 it
/// waits for the kernel first, so that it is this kernel's own failure.
void require_launched(const std::type_info& kernel);

}  // namespace trellis::cuda
