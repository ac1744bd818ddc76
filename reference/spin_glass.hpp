#pragma once
/// This is the slow scalar version of classical Heisenberg spins with couplings on the bonds: one set of
/// spins, sites in lexicographic order of all four extents (x fastest), bonds in x, y and z only. The fourth
/// direction counts samples of disorder, which share nothing.
#include <array>
#include <vector>

#include "trellis/algebra/random.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::reference {

/// It has three components, and length 1.
using Spin = std::array<double, 3>;
/// These are the J of the bonds from a site to its neighbours in +x, +y and +z.
using BondCouplings = std::array<double, 3>;

struct SpinGlass {
  Coord extents{1, 1, 1, 1};
  std::vector<BondCouplings> couplings;  ///< the index is [site]
  std::vector<Spin> spins;               ///< the index is [site]
};

/// Returns h = sum of J S' over the six bonds of a site. A direction with an extent of 1 has no bonds, and
/// one with an extent of 2 has two bonds between the same sites.
Spin local_field(const SpinGlass& glass, int64_t site);

/// Returns -sum over bonds of J S . S' of one sample.
double energy(const SpinGlass& glass, int sample);

/// Maps S -> 2 (S . h) h / h^2 - S on all even sites, then on all odd ones; S stays where h is 0.
void over_relax(SpinGlass& glass);

/// Draws new spins with the density exp(beta S . h), on all even sites, then on all odd ones. Random numbers
/// are draw `draw` of purpose spin_heatbath at trajectory `sweep` (doc/random_numbers.md).
void heat_bath(SpinGlass& glass, double beta, RandomKey key, uint32_t sweep, uint32_t draw);

/// They are sums over the bonds of a sample: J S.S', (S.S')^2, and the product of S.S' of two sets of spins.
struct BondSums {
  double energy = 0, square = 0, product = 0;
};
BondSums bond_sums(const SpinGlass& glass, const SpinGlass& other, int sample);

/// Returns the sum over the sites of a sample of S_a S'_b cos(k x_mu) and sin(k x_mu) with k = 2 pi / L_mu;
/// mu = -1 takes no factor, and the second is 0.
std::array<double, 2> overlap(const SpinGlass& glass, const SpinGlass& other, int a, int b, int mu,
                              int sample);

/// Returns the chirality S(x + mu) . (S(x) x S(x - mu)) of a site.
double chirality(const SpinGlass& glass, int64_t site, int mu);

}  // namespace trellis::reference
