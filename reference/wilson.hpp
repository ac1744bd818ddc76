#pragma once
/// Wilson fermions have all options of the product: boundary phases, anisotropy, clover term, twisted mass.
///
///   D = (m + 1 + 3 nu/xi0) - (1/2) H + sum_{mu<nu} c_munu (i/2) sigma_munu F_munu + i mu_tm gamma5
///   H psi(x) = sum_mu a_mu [ (1 - gamma_mu) z_mu(x) U_mu(x) psi(x+mu)
///                          + (1 + gamma_mu) conj(z_mu(x-mu)) U_mu(x-mu)^dagger psi(x-mu) ]
///
/// with a = nu/xi0 in space and 1 in time, c_munu = c_r/xi0 on spatial and c_t on temporal planes, sigma_munu
/// = (i/2) [gamma_mu, gamma_nu], and F the clover field strength of the links without phases. Isotropic: nu =
/// xi0 = 1, c_r = c_t = csw. z_mu is the boundary phase on the last links of direction mu, else 1; a phase of
/// 0 is a Dirichlet boundary.
#include <array>
#include <complex>

#include "reference/gauge.hpp"
#include "reference/spinor_vector.hpp"

namespace trellis::reference {

using BoundaryPhases = std::array<std::complex<double>, Nd>;
inline const BoundaryPhases antiperiodic_in_time{1.0, 1.0, 1.0, -1.0};

struct WilsonParameters {
  double mass = 0;
  BoundaryPhases boundary = antiperiodic_in_time;
  double c_r = 0, c_t = 0;  ///< they are the clover coefficients of spatial and temporal planes
  double nu = 1, xi0 = 1;   ///< it is the anisotropy
  double twisted_mass = 0;  ///< it is mu_tm
};

/// Returns the isotropic operator with a clover term.
WilsonParameters wilson_clover(double mass, double csw,
                               const BoundaryPhases& boundary = antiperiodic_in_time);
inline double mass_of_kappa(double kappa) { return 1 / (2 * kappa) - 4; }

/// Returns H psi, or H^dagger psi.
SpinorVector wilson_hop(const Gauge& U, const WilsonParameters& parameters, const SpinorVector& psi,
                        bool is_dagger = false);

/// It is a 6x6 complex matrix that acts on one chirality of a site's spinor: index 3 spin + colour, spin = 0,
/// 1.
using ChiralBlock = std::array<std::array<std::complex<double>, 6>, 6>;
/// These are the two blocks of a site: spins 0, 1 (gamma5 = 1) and spins 2, 3 (gamma5 = -1).
using ChiralBlocks = std::array<ChiralBlock, 2>;

/// Returns the clover term sum_{mu<nu} c_munu (i/2) sigma_munu F_munu of every site (hermitian).
std::vector<ChiralBlocks> clover_blocks(const Gauge& U, const WilsonParameters& parameters);

/// Multiplies psi by the block-diagonal matrix.
Spinor<double> multiply(const ChiralBlocks& blocks, const Spinor<double>& psi);
/// Returns the inverse, by Gaussian elimination with pivots. Throws NumericError for a singular block.
ChiralBlocks inverse(const ChiralBlocks& blocks);

class WilsonOperator {
 public:
  WilsonOperator(const Gauge& links, const WilsonParameters& parameters);

  SpinorVector apply(const SpinorVector& psi) const;         ///< it returns D psi
  SpinorVector apply_dagger(const SpinorVector& psi) const;  ///< it returns D^dagger psi
  SpinorVector hop(const SpinorVector& psi, bool is_dagger = false) const;

  /// Returns all that is diagonal in the sites: mass, Wilson term, clover, twisted mass.
  SpinorVector diagonal(const SpinorVector& psi, bool is_dagger = false) const;
  SpinorVector diagonal_inverse(const SpinorVector& psi, bool is_dagger = false) const;
  ChiralBlocks diagonal_blocks(int64_t site, bool is_dagger = false) const;

  const Gauge& links() const { return links_; }
  const WilsonParameters& parameters() const { return parameters_; }

 private:
  Gauge links_;
  WilsonParameters parameters_;
  std::vector<ChiralBlocks> clover_;
};

}  // namespace trellis::reference
