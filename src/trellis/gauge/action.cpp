#include "trellis/gauge/action.hpp"

#include <algorithm>

#include "trellis/device/launches.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/host_dispatch.hpp"
#include "trellis/field/storage/on_device.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/rectangle_force.hpp"
#include "trellis/kernels/gauge/rectangle_links.hpp"

namespace trellis {

double action(const GaugeAction& S, const GaugeField& U) {
  const double volume = double(U.lattice().volume());
  double sum = S.c0() * 6 * volume * (1 - plaquette(U));
  if (S.c1 != 0) sum += S.c1 * 12 * volume * (1 - rectangle(U));
  return S.beta * sum;
}

namespace {
GaugeForceCall force_call(AlgebraField& force, const GaugeAction& S, const GaugeField& U, int layers,
                          double coefficient) {
  GaugeForceCall call;
  call.gauge = gauge_call(U, layers);
  call.force = force.raw();
  call.c0 = S.c0();
  call.c1 = S.c1;
  call.coefficient = coefficient * S.beta / 6;
  return call;
}

void add_plaquette_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient) {
  const GaugeForceCall call = force_call(force, S, U, 1, coefficient);
  dispatch_gauge_precision(
      U, [&]<class Layout, class Storage>() { launch_gauge_force<Layout, Storage>(call, inner_sites(U)); });
}
}  // namespace

void ForceWorkspace::prepare(const GaugeField& U) {
  if (lattice != U.lattice_ptr() || lanes != U.lanes() || width != U.layout().width() ||
      backend != U.backend()) {
    make_plane_tables(planes, U);
    lattice = U.lattice_ptr();
    lanes = U.lanes();
    width = U.layout().width();
    backend = U.backend();
  }
  int places = 0;
  for (const PlaneTables& plane : planes) places = std::max(places, plane.slices.blocks_per_slice());
  scratch_reals = size_t(places) * slice_matrices * 18 * size_t(U.lanes());
  const size_t bytes = size_t(thread_count()) * scratch_reals * element_bytes(U.precision());
  if (scratch.bytes() < bytes || scratch.backend() != backend) scratch = Memory(bytes, backend);
}

void add_force(AlgebraField& force, const GaugeAction& S, const GaugeField& U, double coefficient,
               ForceWorkspace& workspace) {
  TRELLIS_REQUIRE(force.is_stored_like(U), "force and links have different site orders: ", force.lanes(),
                  " and ", U.lanes(), " lanes, backends ", name_of(force.backend()), " and ",
                  name_of(U.backend()), ", ", name_of(force.precision()), " and ", name_of(U.precision()));
  if (S.c1 == 0) return add_plaquette_force(force, S, U, coefficient);
  if (on_device(U.backend(), [&]<class Layout>() {
        launch_rectangle_links<Layout>(force_call(force, S, U, PlaneSlices::before, coefficient),
                                       inner_sites(U));
      }))
    return;
  workspace.prepare(U);
  SliceForceCall call;
  call.gauge = gauge_call(U, PlaneSlices::before);
  call.force = force.raw();
  call.c0 = S.c0();
  call.c1 = S.c1;
  call.coefficient = coefficient * S.beta / 6;
  call.scratch = workspace.scratch.data();
  call.scratch_reals = workspace.scratch_reals;
  size_t plane = 0;
  for (call.mu = 0; call.mu < Nd; ++call.mu)
    for (call.nu = call.mu + 1; call.nu < Nd; ++call.nu) {
      const PlaneTables& tables = workspace.planes[plane++];
      tables.describe(call);
      call.places = tables.places.data();
      call.plaquettes = tables.plaquettes.data();
      call.plaquette_count = int(tables.plaquettes.size());
      dispatch_on_host(U.precision(), U.lanes(), [&]<class Layout, class Storage>() {
        launch_slice_force<Layout, Storage>(call, tables.slices.slices());
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
