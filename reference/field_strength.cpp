#include "reference/field_strength.hpp"

#include <utility>

namespace trellis::reference {

namespace {
/// Returns the pairs of steps (a, b) that start the four loops of one orientation.
std::vector<std::pair<int, int>> leaf_starts(int mu, int nu) {
  return {{forward(mu), forward(nu)},
          {forward(nu), backward(mu)},
          {backward(mu), backward(nu)},
          {backward(nu), forward(mu)}};
}
}  // namespace

ColorMatrix<double> clover_leaves(const Gauge& U, int64_t site, int mu, int nu) {
  ColorMatrix<double> Q = zero_matrix<double>();
  for (const auto& [a, b] : leaf_starts(mu, nu)) Q = Q + plaquette_loop(U, site, a, b);
  return Q;
}

ColorMatrix<double> rectangle_leaves(const Gauge& U, int64_t site, int mu, int nu) {
  ColorMatrix<double> R = zero_matrix<double>();
  for (const auto& [a, b] : leaf_starts(mu, nu)) {
    R = R + path(U, site, {a, a, b, reversed(a), reversed(a), reversed(b)});
    R = R + path(U, site, {a, b, b, reversed(a), reversed(b), reversed(b)});
  }
  return R;
}

ColorMatrix<double> clover_field_strength(const Gauge& U, int64_t site, int mu, int nu) {
  const ColorMatrix<double> Q = clover_leaves(U, site, mu, nu);
  return 0.125 * (Q - dagger(Q));
}

ColorMatrix<double> rectangle_field_strength(const Gauge& U, int64_t site, int mu, int nu) {
  const ColorMatrix<double> R = rectangle_leaves(U, site, mu, nu);
  return 0.0625 * (R - dagger(R));
}

ColorMatrix<double> plaquette_field_strength(const Gauge& U, int64_t site, int mu, int nu) {
  const ColorMatrix<double> P = plaquette_loop(U, site, forward(mu), forward(nu));
  return 0.5 * (P - dagger(P));
}

}  // namespace trellis::reference
