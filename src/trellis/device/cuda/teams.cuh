#pragma once
/// This is the launch of kernels for teams on a GPU.
#include <atomic>

#include "trellis/algebra/unroll.hpp"
#include "trellis/device/cuda/check.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/view/team.hpp"

namespace trellis {

namespace cuda {
/// A block is a team: x is the site of a thread, y the member.
template <class Kernel>
__global__ void __launch_bounds__(sites_of_team* Kernel::members)
    team_kernel(const __grid_constant__ Kernel kernel, const int32_t* list, int begin, int count) {
  extern __shared__ uint4 shared_by_team[];
  const int i = int(blockIdx.x) * sites_of_team + int(threadIdx.x);
  const bool has_site = i < count;
  const int site = !has_site ? 0 : list ? list[begin + i] : begin + i;
  const TeamPlace place{int(threadIdx.x), int(threadIdx.y), shared_by_team};
  typename Kernel::State state;
  unroll<Kernel::steps>([&](auto step) {
    if constexpr (step > 0) __syncthreads();
    if (has_site) kernel.template work<step>(state, site, int(blockIdx.y), place);
  });
}

/// Lets a kernel have so many bytes of shared memory. More than 48 KiB have to be asked for, once: a process
/// has one GPU.
template <class Kernel>
void allow_shared_memory(size_t bytes) {
  constexpr size_t of_all_kernels = size_t(48) << 10;
  static std::atomic<size_t> allowed = of_all_kernels;
  if (bytes <= allowed) return;
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(&team_kernel<Kernel>),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  allowed = bytes;
}
}  // namespace cuda

namespace launch {
inline namespace on_gpu {

template <class Kernel>
void for_each_site_in_teams(const SiteRange& range, int slots, const Kernel& kernel) {
  if (range.size() == 0) return;
  const cudaStream_t stream = cuda::launch_stream();  // it chooses the GPU of this thread
  const size_t bytes = kernel.shared_bytes();
  cuda::allow_shared_memory<Kernel>(bytes);
  cuda::team_kernel<<<cuda::blocks_of(range, slots, sites_of_team), dim3(sites_of_team, Kernel::members),
                      bytes, stream>>>(kernel, range.list, range.begin, range.size());
  cuda::require_launched(typeid(Kernel));
}

}  // namespace on_gpu
}  // namespace launch
}  // namespace trellis
