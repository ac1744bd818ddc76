#pragma once
/// These sums of doubles do not depend on the order or the grouping of the terms.
///
/// The real line is cut into bins at the fixed powers 2^(40 j). A term is split, by rounding to the units of
/// its own bin and of lower ones, into integer multiples of 2^(40 j), which are added exactly, bin by bin.
/// The three bins down from that of the largest term are kept; which three depends only on the set of terms,
/// and a part only on its term (none is in a higher bin than the term: it would count or not, by the order),
/// so the result does too. What is dropped is below 2^-80 of the largest term. The method follows J. Demmel
/// and H. D. Nguyen (2015) and P. Ahrens et al. (2020), with integers in the bins and a fixed rounding
/// constant.
#include <cmath>
#include <cstdint>

namespace trellis {

inline constexpr int exact_sum_bin_bits = 40;
inline constexpr int exact_sum_bins = 3;

/// Returns the bin of a positive finite x: the smallest j with x < 2^(40 (j + 1)).
int exact_sum_bin(double x);
/// Returns the constant c for which (x + c) - c rounds x to a multiple of 2^(40 j).
inline double exact_sum_rounder(int j) { return std::ldexp(1.5, 52 + exact_sum_bin_bits * j); }

/// This is a partial sum; merging is associative and commutative.
struct ExactSum {
  __int128 bins[exact_sum_bins] = {0, 0, 0};  ///< they are in units of 2^(40 (top - k))
  int32_t top = lowest;
  int32_t is_not_finite = 0;  ///< a term was NaN or Inf
  int32_t is_too_large = 0;   ///< a term was above 2^960

  static constexpr int32_t lowest = -24;  ///< terms below 2^-960 share this bin
  static constexpr int32_t highest = 23;

  void add(double x);
  void merge(const ExactSum& other);
  /// Makes `top` at least the given bin (lower bins are dropped as the definition says).
  void raise_top(int j);
  /// Returns the sum, or NaN if a term was not finite; throws NumericError if a term or the sum is too large
  /// for a double.
  double value() const;
};

}  // namespace trellis
