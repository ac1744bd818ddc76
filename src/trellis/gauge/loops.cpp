#include "trellis/gauge/loops.hpp"

#include <cmath>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/loops.hpp"

namespace trellis {

namespace {
/// Returns the links of U with the halo that rectangles need.
LoopCall loop_call(const GaugeField& U, bool needs_halo = true) {
  LoopCall call;
  if (needs_halo) static_cast<GaugeCall&>(call) = call_of_links(U, GaugeField::halo_width);
  call.links = U.raw();
  call.tables = U.tables();
  for (int mu = 0; mu < Nd; ++mu) call.has_direction[mu] = U.lattice().extents()[mu] > 1;
  return call;
}

/// It counts the directions of space, and those of space and time.
struct Directions {
  int space = 0, all = 0;
  explicit Directions(const GaugeField& U) {
    for (int mu = 0; mu < Nd; ++mu) {
      const int exists = U.lattice().extents()[mu] > 1 ? 1 : 0;
      all += exists;
      space += mu < 3 ? exists : 0;
    }
  }
  double planes() const { return all * (all - 1) / 2; }
  double planes_of_space() const { return space * (space - 1) / 2; }
};
}  // namespace

Plaquettes plaquettes(const GaugeField& U) {
  ExactSum sums[2];
  const LoopCall call = loop_call(U);
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_plaquette_sum<Layout, Storage>(call, inner_sites(U), sums);
  });
  U.lattice().communicator().sum(sums, 2);
  const double volume = double(U.lattice().volume());
  const double spatial = sums[0].value(), temporal = sums[1].value();
  const Directions directions(U);
  const double planes = directions.planes(), of_space = directions.planes_of_space();
  return {(spatial + temporal) / (planes * volume), spatial / (of_space * volume),
          temporal / ((planes - of_space) * volume)};
}

double plaquette(const GaugeField& U) { return plaquettes(U).all; }

double rectangle(const GaugeField& U) {
  ExactSum sum;
  const LoopCall call = loop_call(U);
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_rectangle_sum<Layout, Storage>(call, inner_sites(U), &sum);
  });
  U.lattice().communicator().sum(&sum, 1);
  return sum.value() / (2 * Directions(U).planes() * double(U.lattice().volume()));
}

double link_trace(const GaugeField& U) {
  ExactSum sum;
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_link_trace_sum<Layout, Storage>(loop_call(U, false), inner_sites(U), &sum);
  });
  U.lattice().communicator().sum(&sum, 1);
  return sum.value() / (Directions(U).all * double(U.lattice().volume()));
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
