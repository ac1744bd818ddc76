/// These rows show the launches of gauge fields one by one, with what they must move beside the rate of a
/// copy.
#include <memory>

#include "bench/gpu/cases.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/heatbath.hpp"
#include "trellis/kernels/gauge/loops.hpp"
#include "trellis/kernels/gauge/momentum.hpp"
#include "trellis/kernels/gauge/rectangle_links.hpp"
#include "trellis/kernels/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/stout_smearing.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::gpu_check {

namespace {
/// It is a launch on links that lie on the GPU; `bytes` are those that it must move.
struct Launch {
  const char* name;
  double flops, bytes;  ///< they are those of a site
  std::function<void(GaugeField&)> call;
};

constexpr double link_bytes = 72 * 8, algebra_bytes = 32 * 8;

void run(Section& section, const GaugeField& host, const Launch& launch) {
  section.run(launch.name, [&] {
    GaugeField U = host.on(Backend::cuda);
    const double sites = double(host.geometry().volume());
    const Times times = time_of([&] { launch.call(U); });
    section.print(row_of(section, launch.name, host.geometry().lattice(), Precision::double_precision, 18, 1,
                         times, launch.flops * sites, launch.bytes * sites, ""));
  });
}

void measure_loop_sums(Section& section, const GaugeField& host) {
  for (const Launch& launch :
       {Launch{"plaquettes", plaquette_cost.flops, link_bytes, [](GaugeField& U) { (void)plaquettes(U); }},
        Launch{"rectangles", rectangle_cost.flops, link_bytes, [](GaugeField& U) { (void)rectangle(U); }},
        Launch{"link trace", 0, link_bytes / 3, [](GaugeField& U) { (void)link_trace(U); }},
        Launch{"Polyakov loop", 198, link_bytes / 4, [](GaugeField& U) { (void)polyakov_loop(U); }},
        Launch{"unitarity", 0, link_bytes, [](GaugeField& U) { (void)unitarity_violation(U); }}})
    run(section, host, launch);
}

void measure_dynamics(Section& section, const GaugeField& host) {
  std::unique_ptr<AlgebraField> P;
  const auto momenta = [&](GaugeField& U) -> AlgebraField& {
    if (!P) P = std::make_unique<AlgebraField>(U);
    return *P;
  };
  const GaugeAction wilson = GaugeAction::wilson(6.0), symanzik = GaugeAction::symanzik(6.0);
  for (const Launch& launch :
       {Launch{"force of plaquettes", plaquette_force_cost.flops, plaquette_force_cost.bytes,
               [&](GaugeField& U) { add_force(momenta(U), wilson, U, 0.01); }},
        Launch{"force of rectangles", rectangle_links_cost.flops, rectangle_links_cost.bytes,
               [&](GaugeField& U) { add_force(momenta(U), symanzik, U, 0.01); }},
        Launch{"drift of links", drift_cost.flops, drift_cost.bytes,
               [&](GaugeField& U) { drift(U, momenta(U), 1e-6); }},
        Launch{"heat bath alone", 4 * heatbath_cost.flops, 4 * heatbath_cost.bytes,
               [](GaugeField& U) { heatbath_sweep(U, 6.0, 1, 0, 0, 0, false); }},
        Launch{"over-relaxation alone", 4 * overrelaxation_cost.flops, 4 * overrelaxation_cost.bytes,
               [](GaugeField& U) { overrelaxation_sweep(U, false); }},
        Launch{"links made unitary", 0, 2 * link_bytes, [](GaugeField& U) { reunitarise_links(U); }}})
    run(section, host, launch);
}

void measure_smearing(Section& section, const GaugeField& host) {
  std::unique_ptr<GaugeField> smeared;
  std::unique_ptr<StoutChain> chain;
  std::unique_ptr<LinkDerivative> G;
  std::shared_ptr<GradientFlow> flow;
  for (const Launch& launch :
       {Launch{"stout level", stout_cost.flops, stout_cost.bytes,
               [&](GaugeField& U) {
                 if (!smeared) smeared = std::make_unique<GaugeField>(GaugeField::like(U));
                 stout_level(*smeared, U, isotropic_stout(0.1));
               }},
        Launch{"stout chain rule", stout_chain_cost.flops, stout_chain_cost.bytes,
               [&](GaugeField& U) {
                 if (!chain) {
                   chain = std::make_unique<StoutChain>(0.1, 1);
                   chain->set(U);
                   G = std::make_unique<LinkDerivative>(U);  // it is zero, and stays so
                 }
                 chain->pull_back(*G);
               }},
        Launch{"flow stages, three", 0, 3 * (2 * link_bytes + 2 * algebra_bytes), [&](GaugeField& U) {
                 if (!flow) flow = std::make_shared<GradientFlow>(U);
                 flow->step(0.01);
               }}})
    run(section, host, launch);
}
}  // namespace

void measure_gauge_launches(Section& section, const GaugeField& host) {
  measure_loop_sums(section, host);
  measure_dynamics(section, host);
  measure_smearing(section, host);
}

}  // namespace trellis::gpu_check
