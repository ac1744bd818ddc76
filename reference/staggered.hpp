#pragma once
/// The staggered operator has one U(1) field (doc/conventions.md, Staggered fermions).
#include <array>
#include <map>
#include <utility>

#include "reference/gauge.hpp"

namespace trellis::reference {

/// There is one colour vector a site, in lexicographic order, x fastest.
using ColorVectors = std::vector<ColorVector<double>>;

/// These make up theta besides the staggered phases.
struct StaggeredPhases {
  std::array<double, Nd> boundary_angle{0, 0, 0, 3.14159265358979323846};  ///< the last links have it
  double mu_over_ipiT = 0;  ///< it is an imaginary chemical potential: pi mu_over_ipiT / Lt on every temporal
                            ///< link
  std::map<std::pair<int, int>, int> flux;  ///< it maps a plane (a, b), a < b, to its quanta k
};

/// Returns theta_mu(x), [4 site + mu]: the staggered phase (0 or pi) + boundary + chemical potential + flux.
std::vector<double> staggered_theta(const Coord& extents, const StaggeredPhases& phases);

/// Returns M psi = m psi + (1/2) sum_mu [ u_mu(x) U_mu(x) psi(x+mu) - conj(u_mu(x-mu)) U_mu(x-mu)^dagger
/// psi(x-mu) ], u = exp(i theta).
ColorVectors staggered_apply(const Gauge& U, const std::vector<double>& theta, double mass,
                             const ColorVectors& psi);

}  // namespace trellis::reference
