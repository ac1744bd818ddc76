#pragma once
/// This is the loop over links of the CUDA backend, with one thread per link.
#include "trellis/device/cuda/for_each_site.cuh"

namespace trellis::cuda {

#if !defined(__CUDACC__)
/// A simulated GPU takes the links of a site one after the other.
template <int least_blocks, class F>
void for_each_link(const SiteRange& range, const F& f) {
  for_each_site(range, 4, f);
}
#else
/// The warps of a block take the directions of the same 32 sites: what they have in common is in the first
/// cache.
template <class F, int least_blocks>
__global__ void __launch_bounds__(threads_per_block, least_blocks)
    link_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int count) {
  static_assert(threads_per_block == 4 * 32);
  const int i = int(blockIdx.x * 32 + threadIdx.x % 32);
  if (i >= count) return;
  f(list ? list[begin + i] : begin + i, int(threadIdx.x / 32));
}

/// Calls f(site, direction) for every site of the range (its list lies on the device) and the four
/// directions.
/// @tparam least_blocks blocks of a multiprocessor have registers at the same time
template <int least_blocks, class F>
void for_each_link(const SiteRange& range, const F& f) {
  if (range.size() == 0) return;
  const unsigned blocks = unsigned((range.size() + 31) / 32);
  link_kernel<F, least_blocks>
      <<<blocks, threads_per_block, 0, launch_stream()>>>(f, range.list, range.begin, range.size());
  require_launched(typeid(F));
}
#endif

}  // namespace trellis::cuda
