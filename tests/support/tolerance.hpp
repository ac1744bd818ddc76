#pragma once
/// Tolerances are derived: n roundings of a sum whose terms add up to `scale` in absolute value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/spinor_vector.hpp"

namespace trellis::test {

/// Returns n epsilon of the type.
template <class T = double>
constexpr double rounding(double n) {
  return n * double(std::numeric_limits<T>::epsilon());
}

/// Returns |a - b| / max(|b|, floor).
inline double relative_error(double a, double b, double floor = 1e-300) {
  return std::abs(a - b) / std::max(std::abs(b), floor);
}
inline double relative_error(std::complex<double> a, std::complex<double> b, double floor = 1e-300) {
  return std::abs(a - b) / std::max(std::abs(b), floor);
}

/// Returns |a - b| / |b| of two spinor vectors.
inline double relative_error(const reference::SpinorVector& a, const reference::SpinorVector& b) {
  return std::sqrt(reference::norm2(reference::difference(a, b)) / reference::norm2(b));
}

/// Returns the largest |a_ij - b_ij|.
inline double largest_difference(const ColorMatrix<double>& a, const ColorMatrix<double>& b) {
  double worst = 0;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      const Complex<double> d = a.e[i][j] - b.e[i][j];
      worst = std::max(worst, std::hypot(d.re, d.im));
    }
  return worst;
}

}  // namespace trellis::test
