#include "trellis/gauge/action.hpp"

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/kernels/gauge/action.hpp"

namespace trellis {

double action(const GaugeAction& S, const GaugeField& U) {
  const double volume = double(U.lattice().volume());
  double sum = S.c0() * 6 * volume * (1 - plaquette(U));
  if (S.c1 != 0) sum += S.c1 * 12 * volume * (1 - rectangle(U));
  return S.beta * sum;
}

void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient) {
  TRELLIS_REQUIRE(force.lanes() == U.lanes() && force.lattice().geometry() == U.geometry(),
                  "force and links have different site orders: ", force.lanes(), " and ", U.lanes(),
                  " lanes");
  GaugeForceCall call;
  call.gauge = gauge_call(U);
  call.force = force.raw();
  call.c0 = S.c0();
  call.c1 = S.c1;
  call.coefficient = coefficient * S.beta / 6;
  dispatch_gauge(
      U, [&]<class Layout, class Storage>() { launch_gauge_force<Layout, Storage>(call, inner_sites(U)); });
}

AlgebraField force(const GaugeAction& S, const GaugeField& U) {
  AlgebraField F(U);
  add_force(F, S, U);
  return F;
}

}  // namespace trellis
