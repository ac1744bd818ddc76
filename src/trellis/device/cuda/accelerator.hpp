#pragma once
/// The runtime of GPUs has the names of CUDA here, whoever made the GPU: where hipcc compiles, which has to
/// include this file before all others, they stand for those of HIP. What the two have in different
/// form follows below.
#if !defined(__HIP__)
#include <cuda_runtime.h>
#else
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

/// Sources ask by this whether a compiler for GPUs reads them. They ask by __CUDA_ARCH__, which is not set,
/// whether it is that for GPUs of NVIDIA: loads in PTX and some conversions have a portable form beside it.
#define __CUDACC__ 1
#define __grid_constant__

#define cudaDeviceGetDefaultMemPool hipDeviceGetDefaultMemPool
#define cudaDeviceProp hipDeviceProp_t
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaDriverGetVersion hipDriverGetVersion
#define cudaErrorInsufficientDriver hipErrorInsufficientDriver
#define cudaErrorMemoryAllocation hipErrorMemoryAllocation
#define cudaErrorNoDevice hipErrorNoDevice
#define cudaError_t hipError_t
#define cudaEventCreate hipEventCreate
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaEvent_t hipEvent_t
#define cudaFree hipFree
#define cudaFreeAsync hipFreeAsync
#define cudaFreeHost hipHostFree
#define cudaFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize
#define cudaFuncSetAttribute hipFuncSetAttribute
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaHostAlloc hipHostMalloc
#define cudaHostAllocMapped hipHostMallocMapped
#define cudaHostGetDevicePointer hipHostGetDevicePointer
#define cudaHostRegister hipHostRegister
#define cudaHostRegisterMapped hipHostRegisterMapped
#define cudaHostUnregister hipHostUnregister
#define cudaIpcCloseMemHandle hipIpcCloseMemHandle
#define cudaIpcGetMemHandle hipIpcGetMemHandle
#define cudaIpcMemHandle_t hipIpcMemHandle_t
#define cudaIpcMemLazyEnablePeerAccess hipIpcMemLazyEnablePeerAccess
#define cudaIpcOpenMemHandle hipIpcOpenMemHandle
#define cudaMalloc hipMalloc
#define cudaMallocFromPoolAsync hipMallocFromPoolAsync
#define cudaMallocHost hipHostMalloc
#define cudaMemGetInfo hipMemGetInfo
#define cudaMemPoolAttr hipMemPoolAttr
#define cudaMemPoolAttrReleaseThreshold hipMemPoolAttrReleaseThreshold
#define cudaMemPoolAttrReservedMemCurrent hipMemPoolAttrReservedMemCurrent
#define cudaMemPoolAttrUsedMemCurrent hipMemPoolAttrUsedMemCurrent
#define cudaMemPoolGetAttribute hipMemPoolGetAttribute
#define cudaMemPoolSetAttribute hipMemPoolSetAttribute
#define cudaMemPoolTrimTo hipMemPoolTrimTo
#define cudaMemPool_t hipMemPool_t
#define cudaMemcpy2DAsync hipMemcpy2DAsync
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemsetAsync hipMemsetAsync
#define cudaRuntimeGetVersion hipRuntimeGetVersion
#define cudaSetDevice hipSetDevice
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamWaitEvent hipStreamWaitEvent
#define cudaStream_t hipStream_t
#define cudaSuccess hipSuccess
#endif

#if defined(__CUDACC__)
namespace trellis::cuda {

/// Groups of so many neighbouring threads of a block exchange numbers. They are the warps of NVIDIA and the
/// halves of AMD's wavefronts of 64.
inline constexpr int lanes_of_group = 32;

/// Returns the x of the lane that lies so many further on in the group, or the own one behind its end. All
/// lanes call it.
template <class T>
__device__ inline T from_lane_behind(T x, int offset) {
#if defined(__HIP__)
  return __shfl_down(x, unsigned(offset), lanes_of_group);
#else
  return __shfl_down_sync(0xffffffffu, x, unsigned(offset));
#endif
}

/// Return in the first lane the largest number, and the bits that any has, of all lanes of the group, which
/// call it.
__device__ inline int largest_of_group(int x) {
#if defined(__HIP__)
  for (int offset = lanes_of_group / 2; offset > 0; offset /= 2) {
    const int other = from_lane_behind(x, offset);
    if (other > x) x = other;
  }
  return x;
#else
  return __reduce_max_sync(0xffffffffu, x);
#endif
}
__device__ inline unsigned bits_of_group(unsigned x) {
#if defined(__HIP__)
  for (int offset = lanes_of_group / 2; offset > 0; offset /= 2) x |= from_lane_behind(x, offset);
  return x;
#else
  return __reduce_or_sync(0xffffffffu, x);
#endif
}

/// Reads past the first cache, which does not see what other blocks write.
template <class T>
__device__ inline T read_past_first_cache(const T& value) {
#if defined(__HIP__)
  return __hip_atomic_load(&value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  return __ldcg(&value);
#endif
}

/// Set and read a flag that other GPUs and the host see, behind and before all other accesses.
__device__ inline void release_to_all(unsigned long long* flag, unsigned long long value) {
#if defined(__HIP__)
  __hip_atomic_store(flag, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
#endif
}
__device__ inline unsigned long long acquire_from_all(const unsigned long long* flag) {
#if defined(__HIP__)
  return __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  unsigned long long value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
#endif
}

}  // namespace trellis::cuda
#endif
