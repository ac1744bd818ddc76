#pragma once
/// Launches with a thread for each link exist on GPUs alone (device/launch.hpp, is_on_gpu):
///
/// - for_each_link<least_blocks>(range, kernel) calls kernel(site, mu) for the four directions of each site.
///   So many blocks of 128 threads share the registers of a multiprocessor: 2 leave a thread 255 registers, 3
///   leave it 168
#include "trellis/device/launch.hpp"

#if defined(TRELLIS_INSTANTIATE_BACKEND_cuda)
#include "trellis/device/cuda/for_each_link.cuh"
#endif

namespace trellis::launch {
#if defined(TRELLIS_INSTANTIATE_BACKEND_cuda)
inline namespace on_gpu {
template <int least_blocks, class Kernel>
void for_each_link(const SiteRange& range, const Kernel& kernel) {
  cuda::for_each_link<least_blocks>(range, kernel);
}
}  // namespace on_gpu
#else
template <int least_blocks, class... Arguments>
void for_each_link(Arguments&&...) = delete;
#endif
}  // namespace trellis::launch
