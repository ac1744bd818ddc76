#pragma once
/// One thread of a kernel adds to this exact sum (base/exact_sum.hpp). The same parts of every term go to the
/// same bins, so that it has the bits of an ExactSum of these terms. Its bins have 64 bits, which hold the
/// parts of 2^22 terms.
#include <cstdint>

#include "trellis/algebra/lane_integers.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/base/exact_sum.hpp"

namespace trellis {

/// Zero bytes are an empty sum. Terms are added in two steps, of which the second has no branch: a thread may
/// admit the terms of several sums, and then deposit them together.
struct PartialSum {
  static constexpr int64_t most_terms = int64_t(1) << 22;
  int64_t bins[exact_sum_bins] = {0, 0, 0};
  int32_t edge = 0;    ///< the upper half of the upper edge of the top bin; 0: it is one of the three lowest
  int16_t raised = 0;  ///< the top bin lies so far above the lowest one
  int16_t flags = 0;   ///< 1: a term was NaN or Inf; 2: a term was above 2^960

  /// Makes the top bin at least this high.
  TRELLIS_SITE_FN void raise(int to) {
    for (; raised < to; ++raised) {
      bins[2] = bins[1];
      bins[1] = bins[0];
      bins[0] = 0;
    }
    edge = raised < exact_sum_bins ? 0 : exponent_step * (exponent_below_lowest + bin_bits * (raised + 1));
  }

  /// Says whether deposit() may take the term as it is.
  TRELLIS_SITE_FN bool takes(double x) const { return upper_half(x) < edge; }
  /// Makes the sum ready for a term, and returns what deposit() has to take: the term, or zero.
  TRELLIS_SITE_FN double admit(double x) {
    if (takes(x)) return x;
    const int exponent = upper_half(x) / exponent_step;
    if (exponent == 0x7ff) {
      flags |= 1;
      return 0.0;
    }
    const int above_lowest = exponent - exponent_below_lowest;
    const int bin = above_lowest <= 0 ? 0 : above_lowest / bin_bits;
    if (bin > ExactSum::highest - ExactSum::lowest) {
      flags |= 2;
      return 0.0;
    }
    if (bin > raised) raise(bin);
    if (edge != 0) return x;
    add_to_lowest(x, exponent);
    return 0.0;
  }
  /// Adds the parts of a term. A term has no part in bins above its own: there it is rounded to twice the
  /// unit, of which it has less than a half.
  TRELLIS_SITE_FN void deposit(double x) {
    const int below_edge = upper_half(x) - edge;
    unroll<exact_sum_bins>([&](auto k) TRELLIS_INLINE_LAMBDA {
      constexpr int below = bin_bits * (k + 1);
      int32_t rounder = edge + exponent_step * (52 - below) + exponent_step / 2;
      if (below_edge < -exponent_step * below) rounder += exponent_step;
      const uint64_t bits = uint64_t(uint32_t(rounder)) << 32;
      const double constant = real_from_bits(bits), shifted = x + constant;
      bins[k] += int64_t(bits_of(shifted) - bits);  // the last bit is worth one unit of the bin
      x -= shifted - constant;
    });
  }
  TRELLIS_SITE_FN void add(double x) { deposit(admit(x)); }

  TRELLIS_SITE_FN void merge(const PartialSum& other) {
    PartialSum aligned = other;
    raise(aligned.raised);
    aligned.raise(raised);
    unroll<exact_sum_bins>([&](auto k) TRELLIS_INLINE_LAMBDA { bins[k] += aligned.bins[k]; });
    flags = int16_t(flags | other.flags);
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
  static constexpr int bin_bits = exact_sum_bin_bits, exponent_bias = 1023;
  static constexpr int32_t exponent_step =
      1 << 20;  ///< an exponent counts so much in the upper half of a number
  /// This is the biased exponent of the lower edge of the lowest bin.
  static constexpr int exponent_below_lowest = exponent_bias + bin_bits * ExactSum::lowest;

  /// Returns the upper 32 bits of |x|.
  TRELLIS_SITE_FN static int32_t upper_half(double x) { return int32_t(bits_of(x) >> 32) & 0x7fffffff; }

  /// Adds a term where the top bin is one of the three lowest: all terms below them share the lowest one.
  TRELLIS_SITE_FN void add_to_lowest(double x, int exponent) {
    uint64_t rounder = uint64_t(exponent_below_lowest + 52 + bin_bits * raised) << 52 | uint64_t(1) << 51;
    int least = exponent_below_lowest + bin_bits * raised;  // terms of the bin have it at least
    unroll<exact_sum_bins>([&](auto k) TRELLIS_INLINE_LAMBDA {
      if (exponent >= least || int(k) >= raised) {
        const double constant = real_from_bits(rounder), shifted = x + constant;
        bins[k] += int64_t(bits_of(shifted) - rounder);
        x -= shifted - constant;
      }
      rounder -= uint64_t(bin_bits) << 52;
      least -= bin_bits;
    });
  }
};

}  // namespace trellis
