#include "reference/staggered.hpp"

#include <cmath>
#include <numbers>

#include "trellis/base/error.hpp"

namespace trellis::reference {

namespace {
constexpr double pi = std::numbers::pi;

/// Returns eta_x = 1, eta_y = (-1)^x, eta_z = (-1)^(x+y), eta_t = (-1)^(x+y+z).
double staggered_phase(const Coord& x, int mu) {
  int sum = 0;
  for (int nu = 0; nu < mu; ++nu) sum += x[nu];
  return sum % 2 == 0 ? 0.0 : pi;
}

/// Returns the phase of a flux: theta_b(x) += 2 pi k x_a / (L_a L_b); theta_a(x) -= 2 pi k x_b / L_b on the
/// links with x_a = L_a - 1.
double flux_phase(const Coord& x, int mu, int a, int b, int k, const Coord& L) {
  if (mu == b) return 2 * pi * k * x[a] / (double(L[a]) * L[b]);
  if (mu == a && x[a] == L[a] - 1) return -2 * pi * k * x[b] / L[b];
  return 0.0;
}
}  // namespace

std::vector<double> staggered_theta(const Coord& L, const StaggeredPhases& phases) {
  std::vector<double> theta(size_t(4 * product(L)));
  for (int64_t site = 0; site < product(L); ++site) {
    const Coord x = site_coord(site, L);
    for (int mu = 0; mu < Nd; ++mu) {
      double angle = staggered_phase(x, mu);
      if (x[mu] == L[mu] - 1) angle += phases.boundary_angle[size_t(mu)];
      if (mu == 3) angle += pi * phases.mu_over_ipiT / L[3];
      for (const auto& [plane, k] : phases.flux) {
        TRELLIS_REQUIRE(plane.first < plane.second, "flux plane (", plane.first, ", ", plane.second,
                        ") is not in the order x, y, z, t");
        angle += flux_phase(x, mu, plane.first, plane.second, k, L);
      }
      theta[size_t(4 * site + mu)] = angle;
    }
  }
  return theta;
}

ColorVectors staggered_apply(const Gauge& U, const std::vector<double>& theta, double mass,
                             const ColorVectors& psi) {
  ColorVectors out(psi.size());
  for (int64_t x = 0; x < U.volume(); ++x) {
    ColorVector<double> sum = mass * psi[size_t(x)];
    for (int mu = 0; mu < Nd; ++mu) {
      const int64_t ahead = neighbour(x, forward(mu), U.extents),
                    behind = neighbour(x, backward(mu), U.extents);
      const double here = theta[size_t(4 * x + mu)], there = theta[size_t(4 * behind + mu)];
      const Complex<double> u{0.5 * std::cos(here), 0.5 * std::sin(here)};
      const Complex<double> v{0.5 * std::cos(there), -0.5 * std::sin(there)};
      sum = sum + u * (U.link(x, mu) * psi[size_t(ahead)]) -
            v * (dagger(U.link(behind, mu)) * psi[size_t(behind)]);
    }
    out[size_t(x)] = sum;
  }
  return out;
}

}  // namespace trellis::reference
