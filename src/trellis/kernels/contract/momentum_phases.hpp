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

/// It writes phases[momentum][re, im][site - first] of the sites of a chunk, for devices.
struct SitePhases {
  MomentumPhaseTable table;
  SiteCoordinates coordinates;
  double* phases;
  int first, stride;

  TRELLIS_SITE_FN void operator()(int site, int momentum) const {
    int x[Nd];
    coordinates.global(site, x);
    const Complex<double> z = table(momentum, x);
    double* out = phases + size_t(2 * momentum) * size_t(stride) + size_t(site - first);
    out[0] = z.re;
    out[stride] = z.im;
  }
};

}  // namespace trellis
