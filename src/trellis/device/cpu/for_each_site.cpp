#include "trellis/device/cpu/for_each_site.hpp"

#include <cmath>

namespace trellis::cpu {

namespace {
constexpr int width = 8;
using Vector = Lanes<double, width>;

double horizontal_maximum(const Vector& v) {
  double m = v[0];
  for (int i = 1; i < width; ++i) m = v[i] > m ? v[i] : m;
  return m;
}
}  // namespace

/// Eight terms take 2 operations for the maximum, and 4 for each bin for the split.
void TermBuffer::flush() {
  if (count_ == 0) return;
  while (count_ % width != 0) buffer_[count_++] = 0.0;
  Vector largest(0.0), finite_check(0.0);
  for (int i = 0; i < count_; i += width) {
    const Vector x = Vector::load(buffer_ + i);
    largest = maximum(largest, absolute(x));
    finite_check = finite_check + (x - x);  // NaN once a term is NaN or Inf
  }
  const double max = horizontal_maximum(largest);
  for (int i = 0; i < width; ++i)
    if (finite_check[i] != 0) sum_.is_not_finite = 1;
  const int top = max > 0 && std::isfinite(max) ? exact_sum_bin(max) : ExactSum::lowest;
  if (top > ExactSum::highest) sum_.is_too_large = 1;
  if (sum_.is_not_finite || sum_.is_too_large || max == 0) {
    count_ = 0;
    return;
  }
  Vector rounder[exact_sum_bins], parts[exact_sum_bins];
  for (int k = 0; k < exact_sum_bins; ++k) {
    rounder[k] = Vector(exact_sum_rounder(top - k));
    parts[k] = Vector(0.0);
  }
  for (int i = 0; i < count_; i += width) {
    Vector x = Vector::load(buffer_ + i);
    for (int k = 0; k < exact_sum_bins; ++k) {
      const Vector part = (x + rounder[k]) - rounder[k];
      parts[k] = parts[k] + part;
      x = x - part;
    }
  }
  ExactSum chunk;
  chunk.top = top;
  for (int k = 0; k < exact_sum_bins; ++k) {
    // 2^(-40 (top - k)) in two factors that neither overflow nor round
    const double half_way = std::ldexp(1.0, -exact_sum_bin_bits / 2 * (top - k));
    for (int i = 0; i < width; ++i) chunk.bins[k] += int64_t(parts[k][i] * half_way * half_way);
  }
  sum_.merge(chunk);
  count_ = 0;
}

}  // namespace trellis::cpu
