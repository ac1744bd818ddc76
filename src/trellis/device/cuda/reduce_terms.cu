/// Exact sums on the device: the largest term fixes the bins, then every term is split and the parts are
/// added as integers, which no order can change.
#include "trellis/device/cuda/for_each_site.cuh"

namespace trellis::cuda {

namespace {

struct Scratch {
  unsigned long long largest;  ///< bits of the largest |term|: ordered as integers
  unsigned long long not_finite;
  unsigned long long low[exact_sum_bins];  ///< sums of the low 32 bits of the parts
  long long high[exact_sum_bins];          ///< sums of the rest
};

__global__ void find_largest(const double* terms, int count, Scratch* scratch) {
  const int i = int(blockIdx.x) * threads_per_block + int(threadIdx.x);
  if (i >= count) return;
  const unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(fabs(terms[i])));
  if (bits >= 0x7ff0000000000000ull) atomicMax(&scratch->not_finite, 1ull);
  atomicMax(&scratch->largest, bits);
}

struct Rounders {
  double constant[exact_sum_bins], scale[exact_sum_bins];
};

__global__ void add_parts(const double* terms, int count, Rounders rounders, Scratch* scratch) {
  const int i = int(blockIdx.x) * threads_per_block + int(threadIdx.x);
  double x = i < count ? terms[i] : 0.0;
  for (int k = 0; k < exact_sum_bins; ++k) {
    const double part = (x + rounders.constant[k]) - rounders.constant[k];
    x -= part;
    const long long units = static_cast<long long>(part * rounders.scale[k]);
    unsigned long long low = static_cast<unsigned long long>(units) & 0xffffffffull;
    long long high = units >> 32;
    for (int offset = 16; offset > 0; offset /= 2) {
      low += __shfl_down_sync(0xffffffffu, low, offset);
      high += __shfl_down_sync(0xffffffffu, high, offset);
    }
    if (threadIdx.x % 32 != 0) continue;
    atomicAdd(&scratch->low[k], low);
    atomicAdd(reinterpret_cast<unsigned long long*>(&scratch->high[k]),
              static_cast<unsigned long long>(high));
  }
}

/// Memory that lives as long as the process: the driver frees it.
struct Buffers {
  double* terms = nullptr;
  size_t capacity = 0;
  Scratch* scratch = nullptr;
};
Buffers& buffers() {
  static Buffers b;
  return b;
}

}  // namespace

double* term_buffer(size_t count) {
  Buffers& b = buffers();
  if (count > b.capacity) {
    check(cudaFree(b.terms), "cudaFree");
    check(cudaMalloc(&b.terms, count * sizeof(double)), "cudaMalloc");
    b.capacity = count;
  }
  return b.terms;
}

void reduce_terms(const double* terms, int count, ExactSum& sum) {
  Buffers& b = buffers();
  if (b.scratch == nullptr) check(cudaMalloc(&b.scratch, sizeof(Scratch)), "cudaMalloc");
  check(cudaMemsetAsync(b.scratch, 0, sizeof(Scratch)), "cudaMemsetAsync");
  const unsigned blocks = unsigned((count + threads_per_block - 1) / threads_per_block);
  find_largest<<<blocks, threads_per_block>>>(terms, count, b.scratch);
  Scratch host;
  check(cudaMemcpy(&host, b.scratch, sizeof(host), cudaMemcpyDeviceToHost), "cudaMemcpy");
  ExactSum part;
  if (host.not_finite) {
    part.is_not_finite = 1;
    return sum.merge(part);
  }
  double largest;
  static_assert(sizeof(largest) == sizeof(host.largest));
  __builtin_memcpy(&largest, &host.largest, sizeof(largest));
  if (largest == 0) return;
  part.top = exact_sum_bin(largest);
  if (part.top > ExactSum::highest) {
    part.is_too_large = 1;
    return sum.merge(part);
  }
  Rounders rounders;
  for (int k = 0; k < exact_sum_bins; ++k) {
    rounders.constant[k] = exact_sum_rounder(part.top - k);
    rounders.scale[k] = std::ldexp(1.0, -exact_sum_bin_bits * (part.top - k));
  }
  add_parts<<<blocks, threads_per_block>>>(terms, count, rounders, b.scratch);
  check(cudaMemcpy(&host, b.scratch, sizeof(host), cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (int k = 0; k < exact_sum_bins; ++k)
    part.bins[k] = (__int128(host.high[k]) << 32) + __int128(host.low[k]);
  sum.merge(part);
}

}  // namespace trellis::cuda
