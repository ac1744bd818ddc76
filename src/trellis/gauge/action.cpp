#include "trellis/gauge/action.hpp"

#include <algorithm>

#include "trellis/device/threads.hpp"
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
}  // namespace

void ForceWorkspace::prepare(const GaugeField& U) {
  if (lattice != U.lattice_ptr() || lanes != U.lanes() || width != U.layout().width()) {
    planes.clear();
    for (int mu = 0; mu < Nd; ++mu)
      for (int nu = mu + 1; nu < Nd; ++nu) planes.emplace_back(U.layout(), mu, nu);
    lattice = U.lattice_ptr();
    lanes = U.lanes();
    width = U.layout().width();
  }
  int places = 0;
  for (const PlaneSlices& slices : planes) places = std::max(places, slices.blocks_per_slice());
  scratch_reals = size_t(places) * slice_matrices * 18 * size_t(U.lanes());
  const size_t bytes = size_t(thread_count()) * scratch_reals * sizeof(double);
  if (scratch.bytes() < bytes) scratch = Memory(bytes);
}

void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient,
               ForceWorkspace& workspace) {
  TRELLIS_REQUIRE(force.lanes() == U.lanes() && force.lattice().geometry() == U.geometry(),
                  "force and links have different site orders: ", force.lanes(), " and ", U.lanes(),
                  " lanes");
  if (S.c1 == 0) return add_plaquette_force(force, S, U, coefficient);
  workspace.prepare(U);
  SliceForceCall call;
  call.gauge = gauge_call(U, PlaneSlices::before);
  call.force = force.raw();
  call.c0 = S.c0();
  call.c1 = S.c1;
  call.coefficient = coefficient * S.beta / 6;
  call.scratch = static_cast<double*>(workspace.scratch.data());
  call.scratch_reals = workspace.scratch_reals;
  size_t plane = 0;
  for (call.mu = 0; call.mu < Nd; ++call.mu)
    for (call.nu = call.mu + 1; call.nu < Nd; ++call.nu) {
      const PlaneSlices& slices = workspace.planes[plane++];
      call.blocks_per_slice = slices.blocks_per_slice();
      call.blocks = slices.blocks();
      call.places = slices.places();
      call.plaquettes = slices.plaquettes().data();
      call.plaquette_count = int(slices.plaquettes().size());
      call.inner = slices.inner().data();
      call.inner_count = int(slices.inner().size());
      dispatch_gauge(U, [&]<class Layout, class Storage>() {
        launch_slice_force<Layout, Storage>(call, slices.slices());
      });
    }
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
