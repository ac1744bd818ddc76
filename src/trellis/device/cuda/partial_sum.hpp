#pragma once
/// GPUs, real and simulated, make exact sums (base/exact_sum.hpp) in one launch: the split of a term at bins
/// does not depend on the largest term, which only decides which three bins count. A thread adds its terms as
/// integers in the three bins under its own largest one, a block of threads adds to integers in global
/// memory, one pair for each bin that exists, and the last block leaves the three bins that count.
#include <cstring>
#include <limits>
#include <type_traits>

#include "trellis/base/annotations.hpp"
#include "trellis/base/exact_sum.hpp"
#if defined(__CUDACC__)
#include "trellis/device/cuda/accelerator.hpp"
#endif

namespace trellis::cuda {

using Bits = unsigned long long;  ///< the type that atomic additions take

/// A sum has these flags for the same terms for which an ExactSum has its own.
enum SumFlags : unsigned { no_flags = 0, is_not_finite = 1, is_too_large = 2 };

TRELLIS_SITE_FN Bits bits_of(double x) {
#if defined(__CUDA_ARCH__)
  return Bits(__double_as_longlong(x));
#else
  Bits bits;
  std::memcpy(&bits, &x, sizeof(x));
  return bits;
#endif
}
TRELLIS_SITE_FN double double_of(Bits bits) {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
#endif
}
inline constexpr Bits infinity_bits = 0x7ff0000000000000ull;

/// Returns the bits of exact_sum_rounder(bin): 1.5 times 2^(52 + 40 bin), which is a normal number for every
/// bin.
TRELLIS_SITE_FN Bits rounder_bits(int bin) {
  return (Bits(1023 + 52 + exact_sum_bin_bits * bin) << 52) | (Bits(1) << 51);
}

/// This sum holds at most 2^14 terms of a thread, or the sum of a block of 128 threads: no integer leaves 63
/// bits, as a part of a term has 40.
struct PartialSum {
  long long units[exact_sum_bins] = {0, 0, 0};  ///< these are as ExactSum::bins
  int top = ExactSum::lowest;
  unsigned flags = no_flags;

  TRELLIS_SITE_FN void raise_top(int bin) {
    const int shift = bin - top;
    if (shift <= 0) return;
    units[2] = shift == 1 ? units[1] : shift == 2 ? units[0] : 0;
    units[1] = shift == 1 ? units[0] : 0;
    units[0] = 0;
    top = bin;
  }

  /// Adds a term by the same parts as those of ExactSum::add().
  TRELLIS_SITE_FN void add(double x) {
    const Bits magnitude = bits_of(x) & ~(Bits(1) << 63);
    if (magnitude >= infinity_bits) {
      flags |= is_not_finite;
      return;
    }
    if (magnitude == 0) return;
    const int above_lowest = int(magnitude >> 52) - 1023 - exact_sum_bin_bits * ExactSum::lowest;
    const int bin = ExactSum::lowest + (above_lowest <= 0 ? 0 : above_lowest / exact_sum_bin_bits);
    if (bin > ExactSum::highest) {
      flags |= is_too_large;
      return;
    }
    raise_top(bin);
    for (int k = 0; k < exact_sum_bins; ++k) {
      if (top - k > bin) continue;
      const Bits rounder = rounder_bits(top - k);
      const double constant = double_of(rounder), shifted = x + constant;
      // A unit of the bin is the last bit of a number that has the constant's exponent.
      units[k] += static_cast<long long>(bits_of(shifted) - rounder);
      x -= shifted - constant;
    }
  }

  TRELLIS_SITE_FN void merge(PartialSum other) {
    raise_top(other.top);
    other.raise_top(top);
    for (int k = 0; k < exact_sum_bins; ++k) units[k] += other.units[k];
    flags |= other.flags;
  }
};

/// A sum leaves this in memory of the host.
struct FinishedSum {
  Bits low[exact_sum_bins];
  long long high[exact_sum_bins];
  int top;
  unsigned flags;
  unsigned turn;  ///< the launch that wrote it has this turn; it is written after all else

  ExactSum value() const {
    ExactSum sum;
    for (int k = 0; k < exact_sum_bins; ++k) sum.bins[k] = (__int128(high[k]) << 32) + __int128(low[k]);
    sum.top = top;
    sum.is_not_finite = (flags & is_not_finite) != 0;
    sum.is_too_large = (flags & is_too_large) != 0;
    return sum;
  }
};

/// This is a sum in the making, in device memory, which is zero between launches. Every bin has a sum of the
/// low 32 bits of parts and one of the rest, so that no number of blocks overflows it.
struct SumInMaking {
  static constexpr int least_bin = ExactSum::lowest - exact_sum_bins + 1;
  static constexpr int bins = ExactSum::highest - least_bin + 1;
  Bits low[bins], high[bins];
  unsigned top_above_lowest, flags;
  unsigned blocks_done;  ///< only that of the first row of a group counts

  /// Adds the part in bin top - k of a block's sum.
  TRELLIS_SITE_FN void add_part(const PartialSum& sum, int k) {
    if (sum.units[k] == 0) return;
    const int at = sum.top - k - least_bin;
    add(low[at], Bits(sum.units[k]) & 0xffffffffull);
    add(high[at], Bits(sum.units[k] >> 32));
  }
  /// Notes the top and the flags of a block's sum.
  TRELLIS_SITE_FN void note(const PartialSum& sum) {
    const unsigned above = unsigned(sum.top - ExactSum::lowest);
    if (above != 0) raise(top_above_lowest, above);
    if (sum.flags != no_flags) set_bits(flags, sum.flags);
  }
  TRELLIS_SITE_FN FinishedSum finished() const {
    FinishedSum sum{};
    sum.top = ExactSum::lowest + int(read(top_above_lowest));
    sum.flags = read(flags);
    for (int k = 0; k < exact_sum_bins; ++k) {
      const int at = sum.top - k - least_bin;
      sum.low[k] = read(low[at]);
      sum.high[k] = static_cast<long long>(read(high[at]));
    }
    return sum;
  }

 private:
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  TRELLIS_SITE_FN static void add(Bits& sum, Bits part) { atomicAdd(&sum, part); }
  TRELLIS_SITE_FN static void raise(unsigned& largest, unsigned value) { atomicMax(&largest, value); }
  TRELLIS_SITE_FN static void set_bits(unsigned& all, unsigned bits) { atomicOr(&all, bits); }
  /// Reads past the first cache, which does not see other blocks' additions.
  template <class T>
  TRELLIS_SITE_FN static T read(const T& value) {
    return read_past_first_cache(value);
  }
#else
  TRELLIS_SITE_FN static void add(Bits& sum, Bits part) { sum += part; }
  TRELLIS_SITE_FN static void raise(unsigned& largest, unsigned value) {
    largest = largest > value ? largest : value;
  }
  TRELLIS_SITE_FN static void set_bits(unsigned& all, unsigned bits) { all |= bits; }
  template <class T>
  TRELLIS_SITE_FN static T read(const T& value) {
    return value;
  }
#endif
};

/// Returns the blocks of a launch that sums `count` terms with `threads` threads each: they are so few that
/// each thread has some where there are many, and so many that none has more than PartialSum holds.
inline int blocks_of_sum(int count, int threads) {
  constexpr int most = 1024;
  const int all = (count + threads - 1) / threads;
  return all < most ? all : most;
}

/// One launch of this thread of the host has this device memory for its sums, and leaves them in `finished`.
/// The memory is zero on entry and kept between calls.
struct SumMemory {
  SumInMaking* in_making = nullptr;
  FinishedSum* finished = nullptr;  ///< the device writes it, the host reads it
  unsigned turn = 0;                ///< the turn of this launch; it is never 0
};
SumMemory sum_memory(int rows);
/// Waits for the launch, then calls sums[row].merge(row) for all rows.
void take_sums(const SumMemory& memory, int rows, ExactSum* sums);
/// Returns the number with these bits, and infinity for NaN.
inline double maximum_of(Bits bits) {
  return bits > infinity_bits ? std::numeric_limits<double>::infinity() : double_of(bits);
}
/// Waits for the launch, and returns the number whose bits it left, and infinity for NaN.
double take_maximum(const SumMemory& memory);

/// Returns device memory for the terms of one launch of this thread of the host, kept between calls.
double* term_buffer(size_t count);
/// Merges into sums[row] the exact sum of terms[row * stride ... + count), where terms lie on the device.
void reduce_rows(const double* terms, int count, size_t stride, int rows, ExactSum* sums);

/// Computes the terms of a kernel at one site of one column: f(site, column) or f(site) returns an array or a
/// number, or f(site, column, terms) writes them.
template <int N, class F>
TRELLIS_SITE_FN void terms_of(const F& f, int site, int column, double (&terms)[N]) {
  const auto take = [&](const auto& values) {
    if constexpr (std::is_convertible_v<decltype(values), double>)
      terms[0] = values;
    else
      for (int k = 0; k < N; ++k) terms[k] = values[k];
  };
  if constexpr (std::is_invocable_v<const F&, int, int, double(&)[N]>)
    f(site, column, terms);
  else if constexpr (std::is_invocable_v<const F&, int, int>)
    take(f(site, column));
  else
    take(f(site));
}

/// This functor gives row `row` of terms that lie in memory.
struct TermsInMemory {
  const double* terms;
  size_t stride;
  TRELLIS_SITE_FN double operator()(int i, int row) const { return terms[size_t(row) * stride + size_t(i)]; }
};

}  // namespace trellis::cuda
