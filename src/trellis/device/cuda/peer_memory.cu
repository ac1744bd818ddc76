/// This file has memory of a GPU that several processes reach.
#include "trellis/device/peer_memory.hpp"

#include <cstring>

#include "trellis/device/cuda/check.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis::cuda {

static_assert(sizeof(PeerHandle) == sizeof(cudaIpcMemHandle_t));

namespace {
/// Throws for a failed call; the next launch is not blamed for it.
void check_shared(cudaError_t code, const char* call) {
  if (code != cudaSuccess) (void)cudaGetLastError();
  check(code, call);
}
}  // namespace

void* allocate_for_peers(size_t bytes, PeerHandle& handle) {
  require_gpu();
  // Memory of a pool has no such handle, and smaller pieces would share their whole block.
  constexpr size_t least = size_t(1) << 21;
  void* data = nullptr;
  check_shared(cudaMalloc(&data, (bytes + least - 1) / least * least), "cudaMalloc");
  cudaIpcMemHandle_t found;
  const cudaError_t code = cudaIpcGetMemHandle(&found, data);
  if (code != cudaSuccess) (void)cudaFree(data);
  check_shared(code, "cudaIpcGetMemHandle");
  std::memcpy(&handle, &found, sizeof(handle));
  return data;
}

void* map_of_peer(const PeerHandle& handle, size_t) {
  require_gpu();
  cudaIpcMemHandle_t found;
  std::memcpy(&found, &handle, sizeof(found));
  void* data = nullptr;
  check_shared(cudaIpcOpenMemHandle(&data, found, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  return data;
}

/// Errors are ignored: at exit the driver may be gone already.
void unmap_of_peer(void* data, size_t) { (void)cudaIpcCloseMemHandle(data); }

}  // namespace trellis::cuda
