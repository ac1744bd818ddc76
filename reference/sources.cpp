#include "reference/sources.hpp"

#include "trellis/base/error.hpp"

namespace trellis::reference {

Propagator point_source(const Coord& extents, const Coord& at) {
  Propagator source{extents, {}};
  for (int spin = 0; spin < Ns; ++spin)
    for (int colour = 0; colour < Nc; ++colour) {
      SpinorVector column = zero_spinors(product(extents));
      column[size_t(site_index(at, extents))].s[spin].c[colour] = {1.0, 0.0};
      source.columns[size_t(3 * spin + colour)] = column;
    }
  return source;
}

SpinorVector gaussian_smeared(const Gauge& U, const SpinorVector& psi, double width, int steps) {
  TRELLIS_REQUIRE(steps >= 1, "Gaussian smearing needs at least one step, not ", steps);
  const double a = width * width / (4 * steps);
  SpinorVector now = psi;
  for (int step = 0; step < steps; ++step) {
    SpinorVector next = now;
    for (int64_t x = 0; x < U.volume(); ++x) {
      Spinor<double> hops{};
      for (int k = 0; k < 3; ++k) {
        const int64_t ahead = neighbour(x, forward(k), U.extents),
                      behind = neighbour(x, backward(k), U.extents);
        hops = hops + U.link(x, k) * now[size_t(ahead)] + dagger(U.link(behind, k)) * now[size_t(behind)];
      }
      next[size_t(x)] = Complex<double>{1 - 6 * a, 0.0} * now[size_t(x)] + Complex<double>{a, 0.0} * hops;
    }
    now = next;
  }
  return now;
}

Propagator gaussian_smeared(const Gauge& U, const Propagator& S, double width, int steps) {
  Propagator smeared = S;
  for (auto& column : smeared.columns) column = gaussian_smeared(U, column, width, steps);
  return smeared;
}

}  // namespace trellis::reference
