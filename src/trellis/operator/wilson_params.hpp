#pragma once
/// Wilson-type operators have these parameters (doc/conventions.md, "Gamma matrices and Wilson fermions").
#include <array>
#include <complex>
#include <string>

#include "trellis/base/precision.hpp"

namespace trellis {

/// It is one complex phase per direction for crossing the boundary; 0 in t is Dirichlet time.
using BoundaryPhases = std::array<std::complex<double>, 4>;

inline constexpr double kappa_to_mass(double kappa) { return 1.0 / (2.0 * kappa) - 4.0; }
inline constexpr double mass_to_kappa(double mass) { return 1.0 / (2.0 * (4.0 + mass)); }

struct WilsonParams {
  double mass = 0.0;
  double csw_spatial = 0.0;   ///< it is c_R; the coefficient of the spatial planes is csw_spatial / xi0
  double csw_temporal = 0.0;  ///< it is c_T; csw of the isotropic action is both
  /// The anisotropy makes the diagonal 1 + 3 nu / xi0 + m, spatial hops times nu / xi0.
  double nu = 1.0, xi0 = 1.0;
  double twisted_mass = 0.0;  ///< it is mu of + i mu gamma5
  BoundaryPhases boundary{1.0, 1.0, 1.0, -1.0};

  bool has_clover() const { return csw_spatial != 0.0 || csw_temporal != 0.0; }
  double diagonal() const { return 1.0 + 3.0 * nu / xi0 + mass; }
};

/// It says how an operator computes: none of it changes the physics.
struct KernelChoice {
  Precision precision = Precision::double_precision;
  int link_reals = 18;
  Backend backend{};  ///< it is the CPU, if none is named
  int lanes = 0;      ///< 0 is the vector width of this build
};

}  // namespace trellis
