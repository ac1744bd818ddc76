#include "trellis/gauge/smearing.hpp"

#include <cmath>
#include <optional>

#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/stout_smearing.hpp"

namespace trellis {

namespace {
/// Applies one_level(out, in) `levels` times.
template <class F>
GaugeField repeat(const GaugeField& U, int levels, F one_level) {
  TRELLIS_REQUIRE(levels >= 0, "smearing levels: ", levels);
  if (levels == 0) return U;
  GaugeField in = GaugeField::unset_like(U);
  std::optional<GaugeField> out;  // the first level reads U itself, and only a second one needs two fields
  for (int level = 0; level < levels; ++level) {
    stop_together(U.lattice().communicator());
    if (level == 1) out = GaugeField::unset_like(U);
    GaugeField& smeared = level == 0 ? in : *out;
    one_level(smeared, level == 0 ? U : in);
    smeared.halo_is_stale();
    if (level > 0) std::swap(in, *out);
  }
  return in;
}
}  // namespace

StoutWeights isotropic_stout(double rho) {
  StoutWeights weights{};
  for (size_t mu = 0; mu < Nd; ++mu)
    for (size_t nu = 0; nu < Nd; ++nu) weights[mu][nu] = mu == nu ? 0.0 : rho;
  return weights;
}

StoutWeights spatial_stout(double rho) {
  StoutWeights weights = isotropic_stout(rho);
  for (size_t mu = 0; mu < Nd; ++mu) weights[mu][3] = weights[3][mu] = 0.0;
  return weights;
}

void stout_level(GaugeField& out, const GaugeField& in, const StoutWeights& rho, LinkDerivative* staples) {
  for (const auto& row : rho)
    for (const double weight : row) TRELLIS_REQUIRE(std::isfinite(weight), "stout weight ", weight);
  TRELLIS_REQUIRE(out.is_stored_like(in) && (staples == nullptr || staples->is_stored_like(in)),
                  "links, smeared links and staples have different site orders or precisions");
  StoutCall call;
  call.gauge = gauge_call(in, 1);
  call.out = out.raw();
  if (staples) call.staples = staples->raw();
  for (size_t mu = 0; mu < Nd; ++mu)
    for (size_t nu = 0; nu < Nd; ++nu) call.rho[mu][nu] = rho[mu][nu];
  dispatch_gauge_precision(in, [&]<class Layout, class Storage>() {
    launch_stout_smearing<Layout, Storage>(call, inner_sites(in));
  });
  out.halo_is_stale();
}

GaugeField stout_smear(const GaugeField& U, const StoutWeights& rho, int levels) {
  return repeat(U, levels, [&](GaugeField& out, const GaugeField& in) { stout_level(out, in, rho); });
}

GaugeField stout_smear(const GaugeField& U, double rho, int levels) {
  return stout_smear(U, isotropic_stout(rho), levels);
}

GaugeField ape_smear(const GaugeField& U, const ApeParams& params) {
  TRELLIS_REQUIRE(std::isfinite(params.alpha), "APE weight ", params.alpha);
  return repeat(U, params.levels, [&](GaugeField& out, const GaugeField& in) {
    ApeCall call;
    call.gauge = gauge_call(in);
    call.out = out.raw();
    call.directions = params.is_spatial_only ? 3 : 4;
    call.keep = 1 - params.alpha;
    call.weight = params.alpha / (2 * (call.directions - 1));
    call.projection = params.projection;
    dispatch_gauge(in, [&]<class Layout, class Storage>() {
      launch_ape_smearing<Layout, Storage>(call, inner_sites(in));
    });
  });
}

}  // namespace trellis
