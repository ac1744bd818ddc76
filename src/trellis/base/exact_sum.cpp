#include "trellis/base/exact_sum.hpp"

#include <limits>

#include "trellis/base/error.hpp"

namespace trellis {

int exact_sum_bin(double x) {
  int exponent;
  std::frexp(x, &exponent);  // x < 2^exponent
  const int shifted = exponent - 1 - exact_sum_bin_bits * ExactSum::lowest;
  return shifted <= 0 ? ExactSum::lowest : ExactSum::lowest + shifted / exact_sum_bin_bits;
}

void ExactSum::raise_top(int j) {
  if (j <= top) return;
  const int shift = j - top;
  for (int k = exact_sum_bins - 1; k >= 0; --k) bins[k] = k >= shift ? bins[k - shift] : 0;
  top = j;
}

void ExactSum::add(double x) {
  if (!std::isfinite(x)) {
    is_not_finite = 1;
    return;
  }
  if (x == 0) return;
  const int j = exact_sum_bin(std::fabs(x));
  if (j > highest) {
    is_too_large = 1;
    return;
  }
  raise_top(j);
  for (int k = top - j; k < exact_sum_bins; ++k) {
    const double c = exact_sum_rounder(top - k);
    const volatile double shifted = x + c;  // the rounding is the point of volatile
    const double part = shifted - c;
    bins[k] += int64_t(std::ldexp(part, -exact_sum_bin_bits * (top - k)));
    x -= part;
  }
}

void ExactSum::merge(const ExactSum& other) {
  ExactSum aligned = other;
  raise_top(aligned.top);
  aligned.raise_top(top);
  for (int k = 0; k < exact_sum_bins; ++k) bins[k] += aligned.bins[k];
  is_not_finite |= other.is_not_finite;
  is_too_large |= other.is_too_large;
}

double ExactSum::value() const {
  if (is_not_finite) return std::numeric_limits<double>::quiet_NaN();
  if (is_too_large) throw NumericError("a term of a global sum is larger than 2^960");
  constexpr __int128 base = __int128(1) << exact_sum_bin_bits;
  __int128 b[3] = {bins[0], bins[1], bins[2]};
  for (int k = 2; k > 0; --k) {  // this carries, so that the lower bins are in [0, base)
    __int128 carry = b[k] / base;
    if (b[k] < carry * base) --carry;
    b[k] -= carry * base;
    b[k - 1] += carry;
  }
  const __int128 limit = __int128(1) << 46;
  double result;
  if (b[0] < limit && b[0] > -limit)
    result = std::ldexp(double((b[0] * base + b[1]) * base + b[2]), exact_sum_bin_bits * (top - 2));
  else
    result = std::ldexp(double(b[0] * base + b[1]), exact_sum_bin_bits * (top - 1));
  if (!std::isfinite(result)) throw NumericError("a global sum overflowed the range of double");
  return result;
}

}  // namespace trellis
