#pragma once
/// One thread of a kernel adds to this exact sum (base/exact_sum.hpp). The same parts of every term go to the
/// same bins, so that it has the bits of an ExactSum of these terms. Its bins have 64 bits, which hold the
/// parts of 2^22 terms.
#include <cstdint>

#include "trellis/algebra/lane_integers.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/base/exact_sum.hpp"

namespace trellis {

/// Zero bytes are an empty sum.
struct PartialSum {
  static constexpr int64_t most_terms = int64_t(1) << 22;
  int64_t bins[exact_sum_bins] = {0, 0, 0};
  int32_t raised = 0;  ///< the top bin lies so far above the lowest one
  int32_t flags = 0;   ///< 1: a term was NaN or Inf; 2: a term was above 2^960

  /// Makes the top bin at least this high.
  TRELLIS_SITE_FN void raise(int to) {
    for (; raised < to; ++raised) {
      bins[2] = bins[1];
      bins[1] = bins[0];
      bins[0] = 0;
    }
  }

  TRELLIS_SITE_FN void add(double x) {
    const int exponent = int(bits_of(x) >> 52) & 0x7ff;
    if (!(x < limit() && x > -limit())) {
      if (exponent == 0x7ff) {
        flags |= 1;
        return;
      }
      const int bin = (exponent - exponent_below_lowest) / exact_sum_bin_bits;
      if (bin > ExactSum::highest - ExactSum::lowest) {
        flags |= 2;
        return;
      }
      raise(bin);
    }
    uint64_t rounder = rounder_bits();
    int least = exponent_below_lowest + exact_sum_bin_bits * raised;  // terms of the bin have it at least
    unroll<exact_sum_bins>([&](auto k) TRELLIS_INLINE_LAMBDA {
      if (exponent >= least || int(k) >= raised) {  // a term has no part in bins above its own
        const double constant = real_from_bits(rounder), shifted = x + constant;
        bins[k] += int64_t(bits_of(shifted) - rounder);  // the last bit is worth one unit of the bin
        x -= shifted - constant;
      }
      rounder -= uint64_t(exact_sum_bin_bits) << 52;
      least -= exact_sum_bin_bits;
    });
  }

  TRELLIS_SITE_FN void merge(const PartialSum& other) {
    PartialSum aligned = other;
    raise(aligned.raised);
    aligned.raise(raised);
    unroll<exact_sum_bins>([&](auto k) TRELLIS_INLINE_LAMBDA { bins[k] += aligned.bins[k]; });
    flags |= other.flags;
  }

  ExactSum sum() const {
    ExactSum all;
    for (int k = 0; k < exact_sum_bins; ++k) all.bins[k] = bins[k];
    all.top = ExactSum::lowest + raised;
    all.is_not_finite = flags & 1;
    all.is_too_large = flags >> 1 & 1;
    return all;
  }

 private:
  static constexpr int exponent_bias = 1023;
  /// This is the biased exponent of the lower edge of the lowest bin.
  static constexpr int exponent_below_lowest = exponent_bias + exact_sum_bin_bits * ExactSum::lowest;

  /// Returns exact_sum_rounder(top), bit by bit.
  TRELLIS_SITE_FN uint64_t rounder_bits() const {
    return (uint64_t(exponent_below_lowest + 52 + exact_sum_bin_bits * raised) << 52) | (uint64_t(1) << 51);
  }
  /// Returns the upper edge of the top bin.
  TRELLIS_SITE_FN double limit() const {
    return real_from_bits(uint64_t(exponent_below_lowest + exact_sum_bin_bits * (raised + 1)) << 52);
  }
};

}  // namespace trellis
