#pragma once
/// This file has the energy density and the topological charge of a configuration (doc/conventions.md,
/// Smearing and flow). The sums are exact: the bits are the same however the lattice is cut. Collective.
#include "trellis/field/gauge_field.hpp"

namespace trellis {

/// Returns E = - sum_{mu<nu} <tr F^2> from the clover F, its trace removed. Collective.
double energy_density_clover(const GaugeField& U);
/// Returns E = 2 sum_{mu<nu} <Re tr(1 - P)> = 36 (1 - plaquette).
double energy_density_plaquette(const GaugeField& U);

enum class ChargeDefinition { plaquette, clover, improved };
/// Returns Q = -(1/32 pi^2) sum eps_munurhosigma tr F_munu F_rhosigma, eps_xyzt = +1, F anti-hermitian and
/// traceless. The improved charge is 5/3 Q_clover - 1/6 Q_rectangle. Collective.
double topological_charge(const GaugeField& U, ChargeDefinition definition);

}  // namespace trellis
