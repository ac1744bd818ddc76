#pragma once
/// Site loops of the CUDA backend: one thread per site and right-hand side; exact sums of per-site terms.
#include <cstdint>
#include <type_traits>

#include "trellis/base/exact_sum.hpp"
#include "trellis/device/launch_hints.hpp"
#include "trellis/device/site_range.hpp"

#if !defined(__CUDACC__)
#include "trellis/device/simulated/for_each_site.hpp"
#else
#include "trellis/device/cuda/check.hpp"
#include "trellis/device/cuda/stream.hpp"

namespace trellis::cuda {

inline constexpr int threads_per_block = 128;

template <class F>
__global__ void __launch_bounds__(threads_per_block)
    site_kernel(const F f, const int32_t* list, int begin, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const int site = list ? list[begin + i] : begin + i;
  if constexpr (std::is_invocable_v<const F&, int, int>)
    f(site, int(blockIdx.y));
  else
    f(site);
}

inline dim3 blocks_of(const SiteRange& range, int rows, int threads = threads_per_block) {
  return dim3(unsigned((range.size() + threads - 1) / threads), unsigned(rows));
}

/// f(site, slot), or f(site), for every site of the range (its list lies on the device) and slot in
/// [0, slots). @param threads of a block, at most threads_per_block
template <class F>
void for_each_site(const SiteRange& range, int slots, const F& f, int threads = threads_per_block) {
  if (range.size() == 0) return;
  site_kernel<<<blocks_of(range, slots, threads), threads, 0, launch_stream()>>>(f, range.list, range.begin,
                                                                                 range.size());
  check(cudaGetLastError(), "kernel launch");
}

/// A group of slots for each thread, one after the other.
template <class F>
__global__ void __launch_bounds__(threads_per_block)
    group_kernel(const F f, const int32_t* list, int begin, int count, const launch::ColumnGroups groups) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const int site = list ? list[begin + i] : begin + i;
  const int end = groups.end(int(blockIdx.y));
#pragma unroll 1
  for (int slot = groups.begin(int(blockIdx.y)); slot < end; ++slot) f(site, slot);
}

/// The same as for_each_site(), with fewer threads.
template <class F>
void for_each_site_in_groups(const SiteRange& range, const launch::ColumnGroups& groups, const F& f,
                             int threads = threads_per_block) {
  if (range.size() == 0) return;
  group_kernel<<<blocks_of(range, groups.count(), threads), threads, 0, launch_stream()>>>(
      f, range.list, range.begin, range.size(), groups);
  check(cudaGetLastError(), "kernel launch");
}

/// sums[row].merge(the exact sum of terms[row * stride ... + count)), terms on the device.
void reduce_rows(const double* terms, int count, size_t stride, int rows, ExactSum* sums);
/// The largest |term|; infinity if one is NaN.
double largest_term(const double* terms, int count);

/// Device memory for the terms of one launch, kept between calls.
double* term_buffer(size_t count);

template <class F, int N>
__global__ void __launch_bounds__(threads_per_block)
    term_kernel(const F f, const int32_t* list, int begin, int count, double* terms) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const int site = list ? list[begin + i] : begin + i;
  if constexpr (std::is_invocable_v<const F&, int, double(&)[N]>) {
    double values[N];
    f(site, values);
    for (int k = 0; k < N; ++k) terms[size_t(k) * count + i] = values[k];
  } else if constexpr (N == 1 && std::is_convertible_v<std::invoke_result_t<const F&, int>, double>) {
    terms[i] = f(site);
  } else {
    const auto values = f(site);
    for (int k = 0; k < N; ++k) terms[size_t(k) * count + i] = values[k];
  }
}

/// The terms of a launch: f(site, double (&terms)[N]), or f(site) -> array, or f(site) -> double.
template <int N, class F>
const double* launch_terms(const SiteRange& range, const F& f) {
  double* terms = term_buffer(size_t(N) * size_t(range.size()));
  term_kernel<F, N><<<blocks_of(range, 1), threads_per_block, 0, launch_stream()>>>(
      f, range.list, range.begin, range.size(), terms);
  check(cudaGetLastError(), "kernel launch");
  return terms;
}

/// sums[k] += the sum over the range of term k. The same bits as on the CPU.
template <int N, class F>
void reduce_sites(const SiteRange& range, const F& f, ExactSum* sums) {
  if (range.size() == 0) return;
  reduce_rows(launch_terms<N>(range, f), range.size(), size_t(range.size()), N, sums);
}

/// The largest f(site) over the range, at least 0; infinity if one is NaN. @pre f(site) >= 0
template <class F>
double maximum_over_sites(const SiteRange& range, const F& f) {
  return range.size() == 0 ? 0.0 : largest_term(launch_terms<1>(range, f), range.size());
}

}  // namespace trellis::cuda
#endif
