#pragma once
/// This file has forces, momenta and links of molecular dynamics (doc/conventions.md, Algebra, momenta and
/// forces). The bits are the same however the lattice is cut.
#include <cstdint>

#include "trellis/field/algebra_field.hpp"
#include "trellis/field/link_derivative.hpp"

namespace trellis {

/// Adds: force += coefficient F with F_mu(x) = sum_a T_a d/dt S(e^{t T_a} U_mu(x)), G the derivative of S by
/// the same links U. Collective.
void add_force(AlgebraField& force, const LinkDerivative& G, const GaugeField& U, double coefficient = 1.0);

/// Draws normal components of unit variance, which depend on seed, stream, trajectory and site alone.
void set_random_momenta(AlgebraField& P, uint64_t seed, uint64_t stream, uint32_t trajectory);
/// Moves the links: U <- exp(step P) U.
void drift(GaugeField& U, const AlgebraField& P, double step);
/// Adds: out += coefficient in.
void add(AlgebraField& out, double coefficient, const AlgebraField& in);
/// Returns (1/2) sum p_a^2, an exact sum. Collective.
double kinetic_energy(const AlgebraField& P);

/// It has sqrt(sum_a F_a^2) of a link: the root of the mean square of all, and the largest. Collective.
struct ForceSize {
  double mean = 0, largest = 0;
};
ForceSize force_size(const AlgebraField& force);

}  // namespace trellis
