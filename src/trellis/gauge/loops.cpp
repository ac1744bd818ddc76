#include "trellis/gauge/loops.hpp"

#include <cmath>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/loops.hpp"

namespace trellis {

Plaquettes plaquettes(const GaugeField& U) {
  ExactSum sums[2];
  const GaugeCall call = gauge_call(U);
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_plaquette_sum<Layout, Storage>(call, inner_sites(U), sums);
  });
  U.lattice().communicator().sum(sums, 2);
  const double volume = double(U.lattice().volume());
  const double spatial = sums[0].value(), temporal = sums[1].value();
  return {(spatial + temporal) / (6 * volume), spatial / (3 * volume), temporal / (3 * volume)};
}

double plaquette(const GaugeField& U) { return plaquettes(U).all; }

double rectangle(const GaugeField& U) {
  ExactSum sum;
  const GaugeCall call = gauge_call(U);
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_rectangle_sum<Layout, Storage>(call, inner_sites(U), &sum);
  });
  U.lattice().communicator().sum(&sum, 1);
  return sum.value() / (12 * double(U.lattice().volume()));
}

double link_trace(const GaugeField& U) {
  ExactSum sum;
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_link_trace_sum<Layout, Storage>({U.raw(), U.tables()}, inner_sites(U), &sum);
  });
  U.lattice().communicator().sum(&sum, 1);
  return sum.value() / (4 * double(U.lattice().volume()));
}

double unitarity_violation(const GaugeField& U) {
  double largest = 0;
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    largest = launch_unitarity_violation<Layout, Storage>({U.raw(), U.tables()}, inner_sites(U));
  });
  return std::sqrt(U.lattice().communicator().maximum(largest));
}

GaugeLoops measure_loops(const GaugeField& U) {
  const Plaquettes P = plaquettes(U);
  return {
      P.all, P.spatial, P.temporal, rectangle(U), link_trace(U), polyakov_loop(U), unitarity_violation(U)};
}

}  // namespace trellis
