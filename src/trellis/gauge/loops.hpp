#pragma once
/// This file has loops of a gauge configuration (doc/conventions.md, Gauge action). The bits are the same for
/// every process grid, thread count and lane count. All functions are collective; they give NaN if a link is
/// not finite. Where the lattice has extents of 1, means are over the directions and planes that exist, and
/// NaN where there are none.
#include <complex>

#include "trellis/field/gauge_field.hpp"

namespace trellis {

struct Plaquettes {
  double all, spatial, temporal;  ///< these are means of Re tr P / 3 over sites and planes
};

struct GaugeLoops {
  double plaquette, plaquette_spatial, plaquette_temporal;
  double rectangle;   ///< it is the mean of Re tr / 3 over sites and the 12 orientations of the 2x1 loop
  double link_trace;  ///< it is the mean of Re tr U / 3
  std::complex<double> polyakov_loop;  ///< it is the spatial mean of tr prod_t U_t / 3
  double unitarity_violation;  ///< it is the largest |(U U^dagger - 1)_ij| and |det U - 1|; infinity if not
                               ///< finite
};

Plaquettes plaquettes(const GaugeField& U);
/// Returns the mean of Re tr P / 3 over sites and planes.
double plaquette(const GaugeField& U);
double rectangle(const GaugeField& U);
double link_trace(const GaugeField& U);
/// Returns the mean of tr prod U_mu / 3 over the sites of one slice; the product begins at x_mu = 0 and is
/// taken link by link.
std::complex<double> polyakov_loop(const GaugeField& U, int mu = 3);
double unitarity_violation(const GaugeField& U);

GaugeLoops measure_loops(const GaugeField& U);

}  // namespace trellis
