#include "trellis/device/cpu/for_each_site.hpp"

#include <cmath>

#include "trellis/algebra/lane_integers.hpp"

namespace trellis::cpu {

namespace {
constexpr int width = 8;
using Vector = Lanes<double, width>;

double horizontal_maximum(const Vector& v) {
  double m = v[0];
  for (int i = 1; i < width; ++i) m = v[i] > m ? v[i] : m;
  return m;
}

/// Terms below this have no part in bin j.
double least_term(int j) { return j > ExactSum::lowest ? std::ldexp(1.0, exact_sum_bin_bits * j) : 0.0; }

/// Returns the sum of terms of which the largest is in bin `top`. In `masked` bins, counted from above, some
/// of them are too small to have a part.
template <int masked>
ExactSum sum_of_parts(const double* terms, int count, int top) {
  const Vector none(0.0);
  Vector rounder[exact_sum_bins], least[exact_sum_bins], parts[exact_sum_bins];
  for (int k = 0; k < exact_sum_bins; ++k) {
    rounder[k] = Vector(exact_sum_rounder(top - k));
    least[k] = Vector(least_term(top - k));
    parts[k] = none;
  }
  for (int i = 0; i < count; i += width) {
    Vector x = Vector::load(terms + i);
    const Vector magnitude = absolute(x);
    for (int k = 0; k < exact_sum_bins; ++k) {
      Vector part = (x + rounder[k]) - rounder[k];
      if (k < masked) part = select(less(magnitude, least[k]), none, part);
      parts[k] = parts[k] + part;
      x = x - part;
    }
  }
  ExactSum sum;
  sum.top = top;
  for (int k = 0; k < exact_sum_bins; ++k) {
    // This is 2^(-40 (top - k)) in two factors that neither overflow nor round.
    const double half_way = std::ldexp(1.0, -exact_sum_bin_bits / 2 * (top - k));
    for (int i = 0; i < width; ++i) sum.bins[k] += int64_t(parts[k][i] * half_way * half_way);
  }
  return sum;
}

ExactSum sum_of_parts(const double* terms, int count, int top, double smallest) {
  const int masked = smallest == 0 ? exact_sum_bins : top - exact_sum_bin(smallest);
  if (masked == 0) return sum_of_parts<0>(terms, count, top);
  if (masked == 1) return sum_of_parts<1>(terms, count, top);
  return sum_of_parts<exact_sum_bins>(terms, count, top);
}
}  // namespace

/// Splits the buffer. Eight terms take 3 operations for the largest and the smallest, and 4 for each bin for
/// the split, 2 more for one that some have no part in.
void TermBuffer::flush() {
  if (count_ == 0) return;
  const int last = count_ - 1;  // it fills the last eight, as zeros would be the smallest
  while (count_ % width != 0) buffer_[count_++] = buffer_[last];
  Vector largest(0.0), minus_smallest(-__builtin_inf()), finite_check(0.0);
  for (int i = 0; i < count_; i += width) {
    const Vector x = Vector::load(buffer_ + i);
    largest = maximum(largest, absolute(x));
    minus_smallest = maximum(minus_smallest, -absolute(x));
    finite_check = finite_check + (x - x);  // it becomes NaN once a term is NaN or Inf
  }
  for (int i = last + 1; i < count_; ++i) buffer_[i] = 0.0;
  const double max = horizontal_maximum(largest);
  for (int i = 0; i < width; ++i)
    if (finite_check[i] != 0) sum_.is_not_finite = 1;
  const int top = max > 0 && std::isfinite(max) ? exact_sum_bin(max) : ExactSum::lowest;
  if (top > ExactSum::highest) sum_.is_too_large = 1;
  if (!sum_.is_not_finite && !sum_.is_too_large && max != 0)
    sum_.merge(sum_of_parts(buffer_, count_, top, -horizontal_maximum(minus_smallest)));
  count_ = 0;
}

}  // namespace trellis::cpu
