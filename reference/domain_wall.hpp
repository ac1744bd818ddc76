#pragma once
/// Domain-wall fermions of Shamir and Moebius (doc/conventions.md) act on five-dimensional vectors:
///
///   (D5 psi)_s = D_+ psi_s - D_- (L psi)_s,  D_+ = b5 D_W(-M5) + 1,  D_- = 1 - c5 D_W(-M5)
///   (L psi)_s = P_- psi_{s+1} + P_+ psi_{s-1}, the wrapped terms times -m_f,  P_+- = (1 +- gamma5)/2
#include "reference/solver.hpp"

namespace trellis::reference {

struct DomainWallParameters {
  double mass = 0;  ///< it is m_f
  double M5 = 1.8;
  double nu = 1, xi0 = 1;  ///< it is the anisotropy of D_W
  int Ls = 8;
  double b5 = 1, c5 = 0;
  std::vector<std::complex<double>> b5_of_slice, c5_of_slice;  ///< they take the place of b5 and c5 where
                                                               ///< they are not empty
  BoundaryPhases boundary = antiperiodic_in_time;

  std::complex<double> b(size_t s) const { return b5_of_slice.empty() ? b5 : b5_of_slice[s]; }
  std::complex<double> c(size_t s) const { return c5_of_slice.empty() ? c5 : c5_of_slice[s]; }
};

/// It has one spinor vector for each slice.
using FiveVector = std::vector<SpinorVector>;

std::complex<double> dot(const FiveVector& a, const FiveVector& b);
double norm2(const FiveVector& a);
/// Returns |a - b| / |b|.
double relative_error(const FiveVector& a, const FiveVector& b);
/// Returns P_+ psi (sign = 1) or P_- psi (sign = -1).
SpinorVector chiral_part(const SpinorVector& psi, int sign);

class DomainWallOperator {
 public:
  DomainWallOperator(const Gauge& links, const DomainWallParameters& parameters);

  FiveVector apply(const FiveVector& psi) const;
  FiveVector apply_dagger(const FiveVector& psi) const;
  /// Applies D_- on each slice.
  FiveVector apply_D_minus(const FiveVector& psi) const;
  FiveVector zero() const;
  const DomainWallParameters& parameters() const { return parameters_; }
  const WilsonOperator& kernel() const { return wilson_; }

 private:
  FiveVector shifted(const FiveVector& psi, bool is_dagger) const;
  DomainWallParameters parameters_;
  WilsonOperator wilson_;
};

/// Solves D5 psi = b by CG on the normal equations until |b - D5 psi| <= tolerance |b|.
FiveVector solve(const DomainWallOperator& D, const FiveVector& b, double tolerance = 1e-13,
                 int max_iterations = 10000);

/// Returns D_- [P_+ b at s = 0, P_- b at s = Ls - 1].
FiveVector domain_wall_source(const DomainWallOperator& D, const SpinorVector& b);
/// Returns q = P_- psi_0 + P_+ psi_{Ls-1}.
SpinorVector wall_quark(const FiveVector& psi);
/// Returns q_mid = P_- psi_{Ls/2} + P_+ psi_{Ls/2-1}.
SpinorVector midpoint_quark(const FiveVector& psi);

struct DomainWallPropagators {
  Propagator quark, midpoint;
};
DomainWallPropagators propagators(const DomainWallOperator& D, const Propagator& source,
                                  double tolerance = 1e-13);

}  // namespace trellis::reference
