#include "trellis/update/heatbath.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "trellis/base/stop.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/kernels/gauge/heatbath.hpp"

namespace trellis {

namespace {
constexpr int sweep_limit = 4096;  // the draw's packing sets it

/// Calls f(call, sites of a parity) for the eight half sweeps; links of one direction and parity share no
/// plaquette. Staples need one layer of the halo, and only the new links of the half sweep are exchanged
/// after it. An interruption, where it may come, leaves whole half sweeps.
template <class F>
void for_each_half_sweep(GaugeField& U, bool may_stop, F f) {
  const GaugeCall call = gauge_call(U, 1);
  for (int mu = 0; mu < Nd; ++mu)
    for (int parity = 0; parity < 2; ++parity) {
      if (may_stop) stop_together(U.lattice().communicator());
      f(LinkUpdateCall{call, mu}, inner_sites(U, parity));
      U.update_halo_of(mu, parity);
    }
}
}  // namespace

void heatbath_sweep(GaugeField& U, double beta, uint64_t seed, uint64_t stream, uint32_t trajectory,
                    uint32_t sweep, bool may_stop) {
  TRELLIS_REQUIRE(beta >= 0 && std::isfinite(beta), "beta ", beta);
  TRELLIS_REQUIRE(sweep < sweep_limit, "heat-bath sweep ", sweep, " of an update");
  const int64_t* sites = U.site_tables().global_sites();
  for_each_half_sweep(U, may_stop, [&](const LinkUpdateCall& update, const SiteRange& range) {
    const HeatbathCall call{update, sites, beta, random_key(seed, stream), trajectory, sweep};
    dispatch_gauge(U, [&]<class Layout, class Storage>() { launch_heatbath<Layout, Storage>(call, range); });
  });
}

void overrelaxation_sweep(GaugeField& U, bool may_stop) {
  for_each_half_sweep(U, may_stop, [&](const LinkUpdateCall& update, const SiteRange& range) {
    dispatch_gauge(
        U, [&]<class Layout, class Storage>() { launch_overrelaxation<Layout, Storage>(update, range); });
  });
}

Heatbath::Heatbath(const HeatbathParams& params) : params_{params} {
  TRELLIS_REQUIRE(params.beta >= 0 && std::isfinite(params.beta), "beta ", params.beta);
  TRELLIS_REQUIRE(params.heatbath_sweeps >= 0 && params.heatbath_sweeps < sweep_limit, "heat-bath sweeps ",
                  params.heatbath_sweeps, ", limit ", sweep_limit - 1);
  TRELLIS_REQUIRE(params.overrelaxation_sweeps >= 0, "over-relaxation sweeps ", params.overrelaxation_sweeps);
}

void Heatbath::update(GaugeField& U, uint64_t seed, uint64_t stream, uint32_t trajectory) {
  stop_together(U.lattice().communicator());
  const int64_t sweeps = int64_t(params_.heatbath_sweeps) + params_.overrelaxation_sweeps;
  const int64_t speed = launches_can_be_cut(U.backend()) ? 1 : 100;  // a GPU does as much as so many cores
  const bool is_long =
      sweeps * int64_t(U.layout().blocks()) * U.lanes() / speed >= params_.least_interruptible;
  std::optional<GaugeField> before;
  if (is_long) before = U;
  try {
    for (int sweep = 0; sweep < params_.heatbath_sweeps; ++sweep)
      heatbath_sweep(U, params_.beta, seed, stream, trajectory, uint32_t(sweep), is_long);
    for (int sweep = 0; sweep < params_.overrelaxation_sweeps; ++sweep) overrelaxation_sweep(U, is_long);
  } catch (const Interrupted&) {
    if (before) U = std::move(*before);
    throw;
  }
  reunitarise_links(U);
}

double Heatbath::flops_per_site() const {
  return 4 * (params_.heatbath_sweeps * heatbath_cost.flops +
              params_.overrelaxation_sweeps * overrelaxation_cost.flops);
}

void heatbath_update(GaugeField& U, const HeatbathParams& params, uint64_t seed, uint64_t stream,
                     uint32_t trajectory) {
  Heatbath(params).update(U, seed, stream, trajectory);
}

}  // namespace trellis
