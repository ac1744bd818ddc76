#pragma once
/// These are the site loops of the CUDA backend, with one thread per site and right-hand side, and the exact
/// sums of per-site terms.
#include <cstdint>
#include <type_traits>
#include <typeinfo>

#include "trellis/device/cuda/partial_sum.hpp"
#include "trellis/device/launch_hints.hpp"
#include "trellis/device/site_range.hpp"

#if !defined(__CUDACC__)
#include "trellis/device/simulated/for_each_site.hpp"
#else
#include "trellis/device/cuda/stream.hpp"

namespace trellis::cuda {

inline constexpr int threads_per_block = 128;

template <class F>
__global__ void __launch_bounds__(threads_per_block)
    site_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int count) {
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

/// Calls f(site, slot), or f(site), for every site of the range (its list lies on the device) and slot in [0,
/// slots). @param threads is the number of threads of a block, at most threads_per_block
template <class F>
void for_each_site(const SiteRange& range, int slots, const F& f, int threads = threads_per_block) {
  if (range.size() == 0) return;
  site_kernel<<<blocks_of(range, slots, threads), threads, 0, launch_stream()>>>(f, range.list, range.begin,
                                                                                 range.size());
  require_launched(typeid(F));
}

/// Computes S slots in each thread. Blocks of the same sites follow each other, for the caches to keep what
/// the slots have in common.
template <int S, class F>
__global__ void __launch_bounds__(threads_per_block)
    columns_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int count, int first_slot,
                   int groups) {
  const int chunk = int(blockIdx.x) / groups, group = int(blockIdx.x) - chunk * groups;
  const int i = chunk * int(blockDim.x) + int(threadIdx.x);
  if (i >= count) return;
  f.template compute<S>(list ? list[begin + i] : begin + i, first_slot + S * group);
}

/// Calls f.compute<S>(site, slot) for every site of the range and every S-th slot from first_slot on,
/// `groups` times.
template <int S, class F>
void for_each_site_of_columns(const SiteRange& range, int first_slot, int groups, const F& f,
                              int threads = threads_per_block) {
  if (range.size() == 0 || groups == 0) return;
  const unsigned chunks = unsigned((range.size() + threads - 1) / threads);
  columns_kernel<S><<<chunks* unsigned(groups), threads, 0, launch_stream()>>>(
      f, range.list, range.begin, range.size(), first_slot, groups);
  require_launched(typeid(F));
}

/// The threads of a block take so many sites: their numbers lie side by side, 16 bytes of each.
inline constexpr int sites_of_parts = 8;

/// The threads of a block take a few sites, in so many parts, and a few slots. Blocks of the same sites
/// follow each other, for the caches to keep what the slots have in common.
template <int parts, int together, class F>
__global__ void __launch_bounds__(sites_of_parts* parts* together)
    parts_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int count, int slots) {
  __shared__ typename F::Part all[together][parts][sites_of_parts];
  const int groups = (slots + together - 1) / together, chunk = int(blockIdx.x) / groups;
  const int own = int(threadIdx.x) % sites_of_parts, part = int(threadIdx.x) / sites_of_parts % parts,
            in_block = int(threadIdx.x) / (sites_of_parts * parts);
  const int i = chunk * sites_of_parts + own, slot = (int(blockIdx.x) - chunk * groups) * together + in_block;
  const int site = i >= count || slot >= slots ? -1 : list ? list[begin + i] : begin + i;
  if (site >= 0) f.part(site, slot, part, all[in_block][part][own]);
  __syncthreads();
  if (site >= 0 && part == 0)
    f.finish(site, slot, [&](int p) -> const typename F::Part& { return all[in_block][p][own]; });
}

/// Calls f.part(site, slot, p, result) for all parts p, each in a thread of its own, and f.finish(site, slot,
/// of), where of(p) is the result of part p. A block takes F::slots_of_block slots.
template <int parts, class F>
void for_each_site_in_parts(const SiteRange& range, int slots, const F& f) {
  constexpr int together = F::slots_of_block, threads = sites_of_parts * parts * together;
  static_assert(threads <= 1024 && threads % 32 == 0);
  if (range.size() == 0 || slots == 0) return;
  const unsigned chunks = unsigned((range.size() + sites_of_parts - 1) / sites_of_parts),
                 groups = unsigned((slots + together - 1) / together);
  parts_kernel<parts, together>
      <<<chunks * groups, threads, 0, launch_stream()>>>(f, range.list, range.begin, range.size(), slots);
  require_launched(typeid(F));
}

/// A block takes one site and one slot: its threads compute the terms, and the first ones add them up in
/// order.
template <class F>
__global__ void __launch_bounds__(threads_per_block)
    ordered_sums_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int slots) {
  __shared__ typename F::Term all[threads_per_block];
  const int i = int(blockIdx.x) / slots, slot = int(blockIdx.x) - i * slots, own = int(threadIdx.x);
  const int site = list ? list[begin + i] : begin + i, terms = f.terms();
  typename F::Sum sum = {};
  for (int first = 0; first < terms; first += threads_per_block) {
    const int left = terms - first, here = left < threads_per_block ? left : threads_per_block;
    if (own < here) f.term(site, slot, first + own, all[own]);
    __syncthreads();
    if (own < F::sums)
      for (int t = 0; t < here; ++t) f.add(sum, all[t], own);
    __syncthreads();  // the next terms lie there
  }
  if (own < F::sums) f.finish(site, slot, own, sum);
}

/// Calls f.term(site, slot, t, term) for all t < f.terms(), each in a thread of its own, and for each of
/// F::sums sums f.add(sum, term, which) for all terms in order, then f.finish(site, slot, which, sum).
template <class F>
void for_each_site_in_ordered_sums(const SiteRange& range, int slots, const F& f) {
  static_assert(F::sums <= threads_per_block);
  if (range.size() == 0 || slots == 0) return;
  ordered_sums_kernel<<<unsigned(range.size()) * unsigned(slots), threads_per_block, 0, launch_stream()>>>(
      f, range.list, range.begin, slots);
  require_launched(typeid(F));
}

/// Adds the sum of the terms of a block's threads to a row; all threads call it.
__device__ inline void add_of_block(PartialSum own, SumInMaking& row) {
  constexpr int groups = threads_per_block / lanes_of_group;
  __shared__ int tops[groups];
  __shared__ unsigned flags[groups];
  __shared__ long long units[groups][exact_sum_bins];
  const int group = int(threadIdx.x) / lanes_of_group;
  const bool is_first = threadIdx.x % lanes_of_group == 0;
  const int top_of_group = largest_of_group(own.top);
  const unsigned flags_of_group = bits_of_group(own.flags);
  if (is_first) {
    tops[group] = top_of_group;
    flags[group] = flags_of_group;
  }
  __syncthreads();
  for (int i = 0; i < groups; ++i) {
    own.raise_top(tops[i]);
    own.flags |= flags[i];
  }
  for (int k = 0; k < exact_sum_bins; ++k) {
    for (int offset = lanes_of_group / 2; offset > 0; offset /= 2)
      own.units[k] += from_lane_behind(own.units[k], offset);
    if (is_first) units[group][k] = own.units[k];
  }
  __syncthreads();
  if (threadIdx.x < exact_sum_bins) {
    const int k = int(threadIdx.x);
    PartialSum sum = own;
    sum.units[0] = 0;
    for (int i = 0; i < groups; ++i) sum.units[0] += units[i][k];
    sum.top = own.top - k;
    row.add_part(sum, 0);
    if (k == 0) row.note(own);
  }
  __syncthreads();  // the next sum of the block takes the same shared memory
}

/// Returns true in all threads of the last of the launch's blocks of one column, which then sees what all
/// others have added.
__device__ inline bool is_last_block(unsigned& blocks_done) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&blocks_done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

/// Shows the turn: the host may read `finished` once it sees it.
__device__ inline void show_turn(FinishedSum& finished, unsigned turn) {
  __threadfence_system();
  *static_cast<volatile unsigned*>(&finished.turn) = turn;
}

/// Leaves what the first rows have summed for the host, and clears them for the next launch, on whatever
/// stream it is: the host does not wait for the end of this one.
template <int rows>
__device__ void finish_rows(SumInMaking* in_making, FinishedSum* finished, unsigned turn) {
  static_assert(rows <= threads_per_block);
  const bool has_row = threadIdx.x < unsigned(rows);
  if (has_row) finished[threadIdx.x] = in_making[threadIdx.x].finished();
  __syncthreads();
  constexpr int words = int(sizeof(SumInMaking) / sizeof(Bits));
  Bits* const all = reinterpret_cast<Bits*>(in_making);
  for (int i = int(threadIdx.x); i < rows * words; i += threads_per_block) all[i] = 0;
  __threadfence();
  __syncthreads();
  if (has_row) show_turn(finished[threadIdx.x], turn);
}

template <class F, int N>
__global__ void __launch_bounds__(threads_per_block)
    sum_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int count,
               const SumMemory memory) {
  PartialSum own[N];
  for (int i = int(blockIdx.x * threads_per_block + threadIdx.x); i < count;
       i += int(gridDim.x) * threads_per_block) {
    double terms[N];
    terms_of<N>(f, list ? list[begin + i] : begin + i, int(blockIdx.y), terms);
#pragma unroll
    for (int k = 0; k < N; ++k) own[k].add(terms[k]);
  }
  SumInMaking* const rows = memory.in_making + size_t(blockIdx.y) * N;
#pragma unroll
  for (int k = 0; k < N; ++k) add_of_block(own[k], rows[k]);
  if (is_last_block(rows->blocks_done))
    finish_rows<N>(rows, memory.finished + size_t(blockIdx.y) * N, memory.turn);
}

/// Adds to sums[column * N + k] the sum over the range of term k of f in the column, for all columns in one
/// launch. The bits are the same as on the CPU.
template <int N, class F>
void reduce_sites(const SiteRange& range, int columns, const F& f, ExactSum* sums) {
  static_assert(sizeof(SumInMaking) % sizeof(Bits) == 0);
  if (range.size() == 0 || columns == 0) return;
  const SumMemory memory = sum_memory(columns * N);
  const dim3 blocks(unsigned(blocks_of_sum(range.size(), threads_per_block)), unsigned(columns));
  sum_kernel<F, N>
      <<<blocks, threads_per_block, 0, launch_stream()>>>(f, range.list, range.begin, range.size(), memory);
  require_launched(typeid(F));
  take_sums(memory, columns * N, sums);
}

/// Takes the largest bit pattern: NaN and Inf have the largest ones.
template <class F>
__global__ void __launch_bounds__(threads_per_block)
    maximum_kernel(const __grid_constant__ F f, const int32_t* list, int begin, int count,
                   const SumMemory memory) {
  Bits largest = 0;
  for (int i = int(blockIdx.x * threads_per_block + threadIdx.x); i < count;
       i += int(gridDim.x) * threads_per_block) {
    double terms[1];
    terms_of<1>(f, list ? list[begin + i] : begin + i, 0, terms);
    const Bits bits = bits_of(terms[0]) & ~(Bits(1) << 63);
    if (bits > largest) largest = bits;
  }
  for (int offset = lanes_of_group / 2; offset > 0; offset /= 2) {
    const Bits other = from_lane_behind(largest, offset);
    if (other > largest) largest = other;
  }
  Bits& of_all = memory.in_making->low[0];
  if (threadIdx.x % lanes_of_group == 0) atomicMax(&of_all, largest);
  if (is_last_block(memory.in_making->blocks_done) && threadIdx.x == 0) {
    memory.finished->low[0] = read_past_first_cache(of_all);
    of_all = 0;
    memory.in_making->blocks_done = 0;
    __threadfence();
    show_turn(*memory.finished, memory.turn);
  }
}

/// Returns the largest f(site) over the range, at least 0; infinity if one is NaN. @pre f(site) >= 0
template <class F>
double maximum_over_sites(const SiteRange& range, const F& f) {
  if (range.size() == 0) return 0.0;
  const SumMemory memory = sum_memory(1);
  maximum_kernel<<<blocks_of_sum(range.size(), threads_per_block), threads_per_block, 0, launch_stream()>>>(
      f, range.list, range.begin, range.size(), memory);
  require_launched(typeid(F));
  return take_maximum(memory);
}

}  // namespace trellis::cuda
#endif
