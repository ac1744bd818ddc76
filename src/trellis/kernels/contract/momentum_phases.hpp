#pragma once
/// The phases exp(-i p.(x - origin)) come from a table of all roots of unity that occur, so that a phase has
/// the same bits wherever it is computed.
#include "trellis/algebra/complex.hpp"
#include "trellis/view/site_coordinates.hpp"

namespace trellis {

struct SiteRange;

/// The angle is a number of steps of 2 pi / order: steps[momentum][3] + sum_k steps[momentum][k] x_k.
struct MomentumPhaseTable {
  const double* roots = nullptr;  ///< [order][re, im], clockwise
  const int64_t* steps = nullptr;
  int64_t order = 1;

  TRELLIS_SITE_FN Complex<double> operator()(int momentum, const int* x) const {
    const int64_t* step = steps + 4 * momentum;
    const int64_t index = (step[3] + step[0] * x[0] + step[1] * x[1] + step[2] * x[2]) % order;
    return {roots[2 * index], roots[2 * index + 1]};
  }
};

/// It writes phases[site - first][momentum][re, im] of some sites, for devices.
struct SitePhases {
  MomentumPhaseTable table;
  SiteCoordinates coordinates;
  double* phases;
  int first, momenta;

  TRELLIS_SITE_FN void operator()(int site) const {
    int x[Nd];
    coordinates.global(site, x);
    double* const out = phases + 2 * (size_t(site - first) * size_t(momenta));
    for (int momentum = 0; momentum < momenta; ++momentum) {
      const Complex<double> z = table(momentum, x);
      out[2 * momentum] = z.re;
      out[2 * momentum + 1] = z.im;
    }
  }
};

}  // namespace trellis
