#pragma once
/// This file has the gradient flow and what is measured on it (doc/conventions.md, Smearing and flow).
#include "reference/gauge.hpp"

namespace trellis::reference {

/// Does one step epsilon of Luescher's third-order Runge-Kutta integrator (arXiv:1006.4518, eq. C.3):
///   V1 = exp(Z0/4) V0, V2 = exp(8/9 Z1 - 17/36 Z0) V1, V3 = exp(3/4 Z2 - 8/9 Z1 + 17/36 Z0) V2,
/// Z_i = epsilon TA(staples(V_i) V_i^dagger), for the Wilson flow.
Gauge wilson_flow_step(const Gauge& V, double epsilon);

/// Returns E = - sum_{mu<nu} <tr F^2> from the clover F, its trace removed unless keep_trace.
double energy_density_clover(const Gauge& U, bool keep_trace = false);
/// Returns E = 2 sum_{mu<nu} <Re tr(1 - P)> = 36 (1 - plaquette).
double energy_density_plaquette(const Gauge& U);

enum class ChargeDefinition { plaquette, clover, improved };
/// Returns Q = -(1/32 pi^2) sum eps_munurhosigma tr F_munu F_rhosigma with eps_xyzt = +1 and F anti-hermitian
/// and traceless.
/// The improved definition is 5/3 Q_clover - 1/6 Q_rectangle.
double topological_charge(const Gauge& U, ChargeDefinition definition);

}  // namespace trellis::reference
