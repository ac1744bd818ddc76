/// This file has the memory of a CUDA device.
#include "trellis/device/memory.hpp"

#include <cstdint>

#include "trellis/device/cuda/check.hpp"
#include "trellis/device/cuda/freed_fields.hpp"
#include "trellis/device/cuda/stream.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/gpu_activity.hpp"

namespace trellis::cuda {

namespace {
constexpr cudaStream_t main_stream = nullptr;

/// Returns the driver's pool of this GPU. Solvers make the same temporary fields again and again, and what is
/// freed stays with the process, for fields of any size.
cudaMemPool_t pool() {
  static const cudaMemPool_t own = [] {
    cudaMemPool_t found;
    check(cudaDeviceGetDefaultMemPool(&found, gpu_of_this_process()), "cudaDeviceGetDefaultMemPool");
    uint64_t all = UINT64_MAX;
    check(cudaMemPoolSetAttribute(found, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
    return found;
  }();
  return own;
}

uint64_t pool_bytes(cudaMemPoolAttr which) {
  uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool(), which, &bytes), "cudaMemPoolGetAttribute");
  return bytes;
}

/// Makes launches that come to `second` start after those that `first` holds now.
void order(cudaStream_t first, cudaStream_t second) {
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  check(cudaEventRecord(event, first), "cudaEventRecord");
  check(cudaStreamWaitEvent(second, event, 0), "cudaStreamWaitEvent");
  check(cudaEventDestroy(event), "cudaEventDestroy");
}

size_t bytes_of_gpu() {
  static const size_t all = [] {
    size_t available = 0, total = 0;
    check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    return total;
  }();
  return all;
}

/// Returns memory of the pool, or null if the GPU has no more.
void* take_from_pool(size_t bytes) {
  if (bytes > bytes_of_gpu()) return nullptr;
  void* data = nullptr;
  const cudaError_t code = cudaMallocFromPoolAsync(&data, bytes, pool(), main_stream);
  if (code != cudaErrorMemoryAllocation) {
    check(code, "cudaMallocFromPoolAsync");
    return data;
  }
  (void)cudaGetLastError();  // the next launch would be blamed
  return nullptr;
}

void wait_for_stream() {
  count_wait();
  check(cudaStreamSynchronize(launch_stream()), "cudaStreamSynchronize");
}
}  // namespace

size_t bytes_of_freed_fields() {
  return pool_bytes(cudaMemPoolAttrReservedMemCurrent) - pool_bytes(cudaMemPoolAttrUsedMemCurrent);
}

/// Returns memory with anything in it. Fields are made and freed in the order of the main stream, and a
/// launch on another stream comes after.
void* allocate_unset(size_t bytes) {
  const cudaStream_t own = launch_stream();
  void* data = take_from_pool(bytes);
  if (data == nullptr) {  // what is free may be in pieces: all goes back to the driver
    synchronize();
    check(cudaMemPoolTrimTo(pool(), 0), "cudaMemPoolTrimTo");
    data = take_from_pool(bytes);
  }
  if (data == nullptr) {
    size_t available = 0, total = 0;
    check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    throw MemoryError(
        message("a field needs ", bytes, " bytes on the GPU; ", available, " of ", total, " are available"));
  }
  if (own != main_stream) order(main_stream, own);
  return data;
}

void* allocate(size_t bytes) {
  void* data = allocate_unset(bytes);
  set_zero(data, bytes);
  return data;
}

/// Frees memory. Errors are ignored: at exit the driver may be gone already.
void release(void* data) {
  try {
    if (const cudaStream_t own = launch_stream(); own != main_stream) order(own, main_stream);
  } catch (const Error&) {
    return;
  }
  (void)cudaFreeAsync(data, main_stream);
}

void copy_to_host(void* host, const void* device, size_t bytes) {
  count_copy(int64_t(bytes));
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, launch_stream()), "cudaMemcpyAsync");
  wait_for_stream();
}

void copy_from_host(void* device, const void* host, size_t bytes) {
  count_copy(int64_t(bytes));
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, launch_stream()), "cudaMemcpyAsync");
  wait_for_stream();  // the caller may change what page-locked memory holds
}

void copy_on_device(void* to, const void* from, size_t bytes) {
  // Either may be memory of the host that was mapped for kernels.
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, launch_stream()), "cudaMemcpyAsync");
}

void copy_rows_on_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t rows) {
  check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDeviceToDevice,
                          launch_stream()),
        "cudaMemcpy2DAsync");
}

void set_zero(void* device, size_t bytes) {
  check(cudaMemsetAsync(device, 0, bytes, launch_stream()), "cudaMemsetAsync");
}

}  // namespace trellis::cuda
