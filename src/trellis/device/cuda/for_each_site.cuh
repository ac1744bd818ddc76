#pragma once
/// Site loops of the CUDA backend: one thread per site and right-hand side; exact sums of per-site terms.
#include <cstdint>

#include "trellis/base/exact_sum.hpp"
#include "trellis/device/cuda/check.hpp"
#include "trellis/device/site_range.hpp"

namespace trellis::cuda {

inline constexpr int threads_per_block = 128;

template <class F>
__global__ void __launch_bounds__(threads_per_block)
    site_kernel(const F f, const int32_t* list, int begin, int count) {
  const int i = int(blockIdx.x) * threads_per_block + int(threadIdx.x);
  if (i < count) f(list ? list[begin + i] : begin + i, int(blockIdx.y));
}

/// f(site, slot) for every site of the range (its list lies on the device) and slot in [0, slots).
template <class F>
void for_each_site(const SiteRange& range, int slots, const F& f) {
  if (range.size() == 0) return;
  const dim3 grid(unsigned((range.size() + threads_per_block - 1) / threads_per_block), unsigned(slots));
  site_kernel<<<grid, threads_per_block>>>(f, range.list, range.begin, range.size());
  check(cudaGetLastError(), "kernel launch");
}

/// sum.merge(the exact sum of `count` doubles on the device).
void reduce_terms(const double* terms, int count, ExactSum& sum);

/// Device memory for the terms of one launch, kept between calls.
double* term_buffer(size_t count);

template <class F, int N>
__global__ void __launch_bounds__(threads_per_block)
    term_kernel(const F f, const int32_t* list, int begin, int count, double* terms) {
  const int i = int(blockIdx.x) * threads_per_block + int(threadIdx.x);
  if (i >= count) return;
  double values[N];
  f(list ? list[begin + i] : begin + i, values);
  for (int k = 0; k < N; ++k) terms[size_t(k) * count + i] = values[k];
}

/// sums[k] += the sum over the range of term k; f(site, double (&terms)[N]). The same bits as on the CPU.
template <int N, class F>
void reduce_sites(const SiteRange& range, const F& f, ExactSum* sums) {
  const int count = range.size();
  if (count == 0) return;
  double* terms = term_buffer(size_t(N) * size_t(count));
  const unsigned blocks = unsigned((count + threads_per_block - 1) / threads_per_block);
  term_kernel<F, N><<<blocks, threads_per_block>>>(f, range.list, range.begin, count, terms);
  check(cudaGetLastError(), "kernel launch");
  for (int k = 0; k < N; ++k) reduce_terms(terms + size_t(k) * size_t(count), count, sums[k]);
}

}  // namespace trellis::cuda
