/// Memory of a CUDA device.
#include "trellis/device/memory.hpp"

#include "trellis/device/cuda/check.hpp"

namespace trellis::cuda {

void* allocate(size_t bytes) {
  size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  if (bytes > available)
    throw MemoryError(
        message("a field needs ", bytes, " bytes on the GPU; ", available, " of ", total, " are available"));
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "cudaMalloc");
  set_zero(data, bytes);
  return data;
}

void release(void* data) { (void)cudaFree(data); }  // at exit the driver may be gone already

void copy_to_host(void* host, const void* device, size_t bytes) {
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void copy_from_host(void* device, const void* host, size_t bytes) {
  check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

void copy_on_device(void* to, const void* from, size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
}

void set_zero(void* device, size_t bytes) { check(cudaMemset(device, 0, bytes), "cudaMemset"); }

}  // namespace trellis::cuda
