#include "trellis/measure/momenta.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "trellis/base/error.hpp"

namespace trellis {

Momenta momenta_up_to(int n2_max) {
  TRELLIS_REQUIRE(n2_max >= 0, "largest n^2 = ", n2_max);
  Momenta all;
  int bound = 0;
  while ((bound + 1) * (bound + 1) <= n2_max) ++bound;
  for (int z = -bound; z <= bound; ++z)
    for (int y = -bound; y <= bound; ++y)
      for (int x = -bound; x <= bound; ++x)
        if (x * x + y * y + z * z <= n2_max) all.push_back({x, y, z});
  std::stable_sort(all.begin(), all.end(), [](const Momentum& a, const Momentum& b) {
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2] < b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
  });
  return all;
}

/// The angle is folded into [0, pi/4], where alone cos and sin are computed.
std::complex<double> root_of_unity(int64_t index, int64_t count) {
  TRELLIS_REQUIRE(count >= 1, "roots of unity of order ", count);
  int64_t eighths = (index % count + count) % count * 8;  // it is the angle in units of 2 pi / (8 count)
  const bool is_below = eighths > 4 * count;              // then z -> conj z
  if (is_below) eighths = 8 * count - eighths;
  const bool is_left = eighths > 2 * count;  // then z -> -conj z
  if (is_left) eighths = 4 * count - eighths;
  const bool is_steep = eighths > count;  // then z -> i conj z
  if (is_steep) eighths = 2 * count - eighths;
  const double angle = 2 * std::numbers::pi * double(eighths) / double(8 * count);
  double c = std::cos(angle), s = std::sin(angle);
  if (eighths == count) c = s = std::sqrt(0.5);
  if (is_steep) std::swap(c, s);
  return {is_left ? -c : c, is_below ? -s : s};
}

MomentumPhases::MomentumPhases(const Coord& lattice, const Momenta& momenta, const Coord& origin) {
  int64_t order = 1;
  for (size_t k = 0; k < 3; ++k) order = std::lcm(order, int64_t(lattice[k]));
  for (int64_t i = 0; i < order; ++i) {
    const std::complex<double> root = root_of_unity(-i, order);
    roots_.insert(roots_.end(), {root.real(), root.imag()});
  }
  for (const Momentum& n : momenta) {
    int64_t offset = 0;
    for (size_t k = 0; k < 3; ++k) {
      const int64_t L = lattice[k], step = (n[k] % L + L) % L * (order / L);
      offset += step * (L - (origin[k] % L + L) % L);
      steps_.push_back(step);
    }
    steps_.push_back(offset % order);
  }
}

}  // namespace trellis
