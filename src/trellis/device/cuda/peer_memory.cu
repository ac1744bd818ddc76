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
  const size_t whole = (bytes + least - 1) / least * least;
  void* data = nullptr;
  check_shared(cudaMalloc(&data, whole), "cudaMalloc");
  cudaIpcMemHandle_t found;
  const cudaError_t code = cudaIpcGetMemHandle(&found, data);
  if (code != cudaSuccess) (void)cudaFree(data);
  check_shared(code, "cudaIpcGetMemHandle");
  std::memcpy(&handle, &found, sizeof(handle));
  count_memory_of_gpu(whole);
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

void* map_of_host(void* data, size_t bytes) {
  require_gpu();
  check_shared(cudaHostRegister(data, bytes, cudaHostRegisterMapped), "cudaHostRegister");
  void* mapped = nullptr;
  const cudaError_t code = cudaHostGetDevicePointer(&mapped, data, 0);
  if (code != cudaSuccess) (void)cudaHostUnregister(data);
  check_shared(code, "cudaHostGetDevicePointer");
  return mapped;
}

/// Errors are ignored, as above.
void unmap_of_host(void* data, void*, size_t) { (void)cudaHostUnregister(data); }

bool is_left_out(PeerWait) { return false; }

}  // namespace trellis::cuda
