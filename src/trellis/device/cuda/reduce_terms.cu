/// Exact sums on the device: the largest term of a row fixes its bins, then every term is split and the parts
/// are added as integers, which no order can change.
#include <limits>
#include <vector>

#include "trellis/device/cuda/for_each_site.cuh"

namespace trellis::cuda {

namespace {

struct Scratch {
  unsigned long long largest;              ///< bits of the largest |term|: ordered as integers
  unsigned long long low[exact_sum_bins];  ///< sums of the low 32 bits of the parts
  long long high[exact_sum_bins];          ///< sums of the rest
};
/// scale twice is one over the unit of a bin, in two factors that do not overflow.
struct Rounders {
  double constant[exact_sum_bins], scale[exact_sum_bins];
};
constexpr unsigned long long infinity_bits = 0x7ff0000000000000ull;

/// NaN and Inf have the largest bit patterns.
__global__ void find_largest(const double* terms, int count, size_t stride, Scratch* scratch) {
  const int i = int(blockIdx.x) * threads_per_block + int(threadIdx.x);
  const double x = i < count ? terms[blockIdx.y * stride + i] : 0.0;
  unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(fabs(x)));
  for (int offset = 16; offset > 0; offset /= 2) {
    const unsigned long long other = __shfl_down_sync(0xffffffffu, bits, offset);
    if (other > bits) bits = other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(&scratch[blockIdx.y].largest, bits);
}

__global__ void add_parts(const double* terms, int count, size_t stride, const Rounders* all_rounders,
                          Scratch* all_scratch) {
  const Rounders rounders = all_rounders[blockIdx.y];
  Scratch* scratch = all_scratch + blockIdx.y;
  const int i = int(blockIdx.x) * threads_per_block + int(threadIdx.x);
  double x = i < count ? terms[blockIdx.y * stride + i] : 0.0;
  for (int k = 0; k < exact_sum_bins; ++k) {
    const double part = (x + rounders.constant[k]) - rounders.constant[k];
    x -= part;
    const long long units = static_cast<long long>(part * rounders.scale[k] * rounders.scale[k]);
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

/// Memory of one kind that grows on demand and lives as long as the process: the driver frees it.
template <class T>
class Buffer {
 public:
  T* get(size_t count) {
    if (count > capacity_) {
      check(cudaFree(data_), "cudaFree");
      data_ = nullptr;
      check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
      capacity_ = count;
    }
    return data_;
  }

 private:
  T* data_ = nullptr;
  size_t capacity_ = 0;
};
Buffer<double> term_memory;
Buffer<Scratch> scratch_memory;
Buffer<Rounders> rounder_memory;

dim3 grid(int count, int rows) {
  return dim3(unsigned((count + threads_per_block - 1) / threads_per_block), unsigned(rows));
}

double from_bits(unsigned long long bits) {
  double x;
  static_assert(sizeof(x) == sizeof(bits));
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Copies behind what was launched on this thread's stream, and waits for it.
void read_scratch(std::vector<Scratch>& host, const Scratch* device) {
  check(cudaMemcpyAsync(host.data(), device, host.size() * sizeof(Scratch), cudaMemcpyDeviceToHost,
                        launch_stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(launch_stream()), "cudaStreamSynchronize");
}

/// The scratch of every row with its largest term.
std::vector<Scratch> largest_of_rows(const double* terms, int count, size_t stride, int rows) {
  Scratch* scratch = scratch_memory.get(size_t(rows));
  check(cudaMemsetAsync(scratch, 0, size_t(rows) * sizeof(Scratch), launch_stream()), "cudaMemsetAsync");
  find_largest<<<grid(count, rows), threads_per_block, 0, launch_stream()>>>(terms, count, stride, scratch);
  check(cudaGetLastError(), "kernel launch");
  std::vector<Scratch> host(static_cast<size_t>(rows));
  read_scratch(host, scratch);
  return host;
}

}  // namespace

double* term_buffer(size_t count) { return term_memory.get(count); }

double largest_term(const double* terms, int count) {
  const unsigned long long bits = largest_of_rows(terms, count, 0, 1)[0].largest;
  return bits > infinity_bits ? std::numeric_limits<double>::infinity() : from_bits(bits);
}

void reduce_rows(const double* terms, int count, size_t stride, int rows, ExactSum* sums) {
  std::vector<Scratch> host = largest_of_rows(terms, count, stride, rows);
  std::vector<ExactSum> parts(host.size());
  std::vector<Rounders> rounders(host.size());
  for (size_t row = 0; row < host.size(); ++row) {
    const double largest = from_bits(host[row].largest);
    if (host[row].largest >= infinity_bits) {
      parts[row].is_not_finite = 1;
    } else if (largest != 0) {
      parts[row].top = exact_sum_bin(largest);
      if (parts[row].top > ExactSum::highest) parts[row].is_too_large = 1;
    }
    const bool is_summed = largest != 0 && !parts[row].is_not_finite && !parts[row].is_too_large;
    for (int k = 0; k < exact_sum_bins; ++k) {
      rounders[row].constant[k] = is_summed ? exact_sum_rounder(parts[row].top - k) : 0.0;
      rounders[row].scale[k] =
          is_summed ? std::ldexp(1.0, -exact_sum_bin_bits / 2 * (parts[row].top - k)) : 0.0;
    }
    if (!is_summed) parts[row].top = ExactSum::lowest;
  }
  Rounders* on_device = rounder_memory.get(rounders.size());
  check(cudaMemcpyAsync(on_device, rounders.data(), rounders.size() * sizeof(Rounders),
                        cudaMemcpyHostToDevice, launch_stream()),
        "cudaMemcpyAsync");
  Scratch* scratch = scratch_memory.get(host.size());
  add_parts<<<grid(count, rows), threads_per_block, 0, launch_stream()>>>(terms, count, stride, on_device,
                                                                          scratch);
  check(cudaGetLastError(), "kernel launch");
  read_scratch(host, scratch);
  for (size_t row = 0; row < host.size(); ++row) {
    if (!parts[row].is_not_finite && !parts[row].is_too_large)
      for (int k = 0; k < exact_sum_bins; ++k)
        parts[row].bins[k] = (__int128(host[row].high[k]) << 32) + __int128(host[row].low[k]);
    sums[row].merge(parts[row]);
  }
}

}  // namespace trellis::cuda
