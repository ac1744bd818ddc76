#include "trellis/gauge/action.hpp"

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/rectangle_force.hpp"

namespace trellis {

double action(const GaugeAction& S, const GaugeField& U) {
  const double volume = double(U.lattice().volume());
  double sum = S.c0() * 6 * volume * (1 - plaquette(U));
  if (S.c1 != 0) sum += S.c1 * 12 * volume * (1 - rectangle(U));
  return S.beta * sum;
}

namespace {
void add_plaquette_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient) {
  GaugeForceCall call;
  call.gauge = gauge_call(U, 1);
  call.force = force.raw();
  call.c0 = S.c0();
  call.coefficient = coefficient * S.beta / 6;
  dispatch_gauge(
      U, [&]<class Layout, class Storage>() { launch_gauge_force<Layout, Storage>(call, inner_sites(U)); });
}

bool fits(const ForceWorkspace& workspace, const GaugeField& U) {
  return workspace.size() == plane_count && &workspace.front().lattice() == &U.lattice() &&
         workspace.front().lanes() == U.lanes();
}
}  // namespace

void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient,
               ForceWorkspace& workspace) {
  TRELLIS_REQUIRE(force.lanes() == U.lanes() && force.lattice().geometry() == U.geometry(),
                  "force and links have different site orders: ", force.lanes(), " and ", U.lanes(),
                  " lanes");
  if (S.c1 == 0) return add_plaquette_force(force, S, U, coefficient);
  if (!fits(workspace, U)) {
    workspace.clear();
    for (int plane = 0; plane < plane_count; ++plane) workspace.emplace_back(U);
  }
  RectangleForceCall call;
  call.gauge = gauge_call(U, 1);
  for (size_t plane = 0; plane < plane_count; ++plane) call.staples[plane] = workspace[plane].raw();
  call.force = force.raw();
  call.c0 = S.c0();
  call.c1 = S.c1;
  call.coefficient = coefficient * S.beta / 6;
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_stored_staples<Layout, Storage>(call, inner_sites(U));
  });
  for (LinkDerivative& staples : workspace) {
    staples.halo_is_stale();
    staples.update_halo(2);
  }
  dispatch_gauge(U, [&]<class Layout, class Storage>() {
    launch_rectangle_force<Layout, Storage>(call, inner_sites(U));
  });
}

void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient) {
  ForceWorkspace workspace;
  add_force(force, S, U, coefficient, workspace);
}

AlgebraField force(const GaugeAction& S, const GaugeField& U) {
  AlgebraField F(U);
  add_force(F, S, U);
  return F;
}

}  // namespace trellis
