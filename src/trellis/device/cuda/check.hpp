#pragma once
/// CUDA errors become typed exceptions.

#include "trellis/base/error.hpp"
#include "trellis/device/cuda/accelerator.hpp"

namespace trellis::cuda {

/// Throws MemoryError for an exhausted device, and Error for other failures; the message names the call.
inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  const std::string text = message(call, " failed: ", cudaGetErrorString(code));
  if (code == cudaErrorMemoryAllocation) throw MemoryError(text);
  throw Error(text);
}

}  // namespace trellis::cuda
