#pragma once
/// Domain-wall operators have these parameters (doc/conventions.md, "Moebius domain wall").
#include <complex>
#include <vector>

#include "trellis/operator/wilson_params.hpp"

namespace trellis {

struct DomainWallParams {
  double mass = 0.1;           ///< it is m_f
  double M5 = 1.8;             ///< the kernel is D_W(-M5), 0 < M5 < 2
  double nu = 1.0, xi0 = 1.0;  ///< these are the anisotropy of the kernel, as of WilsonParams
  int Ls = 8;                  ///< midpoint correlators need an even one
  /// There is one number for all slices, or one for each (zMoebius, also complex). Shamir fermions have b5 =
  /// 1, c5 = 0.
  std::vector<std::complex<double>> b5{1.0}, c5{0.0};
  BoundaryPhases boundary{1.0, 1.0, 1.0, -1.0};

  std::complex<double> b(int s) const { return b5.size() == 1 ? b5[0] : b5[size_t(s)]; }
  std::complex<double> c(int s) const { return c5.size() == 1 ? c5[0] : c5[size_t(s)]; }
  /// Returns A of D_W(-M5) = A - H/2.
  double wilson_diagonal() const { return kernel().diagonal(); }
  WilsonParams kernel() const {
    WilsonParams w;
    w.mass = -M5;
    w.nu = nu;
    w.xi0 = xi0;
    w.boundary = boundary;
    return w;
  }
};

}  // namespace trellis
