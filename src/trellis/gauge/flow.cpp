#include "trellis/gauge/flow.hpp"

#include <cmath>
#include <limits>

#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/flow.hpp"

namespace trellis {

GradientFlow::GradientFlow(const GaugeField& U, double c1) : V_{U}, next_{U}, generator_{U}, c1_{c1} {}

/// W <- a TA(A V^dagger) + b W, V <- exp(W) V
void GradientFlow::stage(double a, double b) {
  FlowStageCall call;
  call.gauge = gauge_call(V_);
  call.out = next_.raw();
  call.generator = generator_.raw();
  call.a = a;
  call.b = b;
  call.c0 = 1 - 8 * c1_;
  call.c1 = c1_;
  dispatch_gauge(
      V_, [&]<class Layout, class Storage>() { launch_flow_stage<Layout, Storage>(call, inner_sites(V_)); });
  next_.halo_is_stale();
  std::swap(V_, next_);
}

/// V1 = exp(Z0/4) V0, V2 = exp(8/9 Z1 - 17/36 Z0) V1, V3 = exp(3/4 Z2 - 8/9 Z1 + 17/36 Z0) V2: each exponent
/// is the last one times -17/9 or -1, and a new term.
void GradientFlow::step(double epsilon) {
  stage(epsilon / 4, 0);
  stage(epsilon * 8 / 9, -17.0 / 9);
  stage(epsilon * 3 / 4, -1);
  time_ += epsilon;
}

std::vector<FlowPoint> flow_history(const GaugeField& U, double time, double epsilon, int measure_every,
                                    double c1) {
  TRELLIS_REQUIRE(epsilon > 0, "flow step ", epsilon);
  TRELLIS_REQUIRE(time >= 0, "flow time ", time);
  TRELLIS_REQUIRE(measure_every >= 1, "measure_every ", measure_every);
  GradientFlow flow(U, c1);
  std::vector<FlowPoint> history;
  auto measure = [&] {
    const GaugeField& V = flow.field();
    history.push_back({flow.time(), energy_density_clover(V), energy_density_plaquette(V),
                       topological_charge(V, ChargeDefinition::clover)});
  };
  measure();
  const int steps = int(std::ceil(time / epsilon * (1 - 1e-12)));
  for (int k = 1; k <= steps; ++k) {
    flow.step(k < steps ? epsilon : time - (steps - 1) * epsilon);
    if (k % measure_every == 0 || k == steps) measure();
  }
  return history;
}

double flow_time_at(const std::vector<FlowPoint>& history, double target) {
  for (size_t i = 1; i < history.size(); ++i) {
    const double before = std::pow(history[i - 1].time, 2) * history[i - 1].energy_clover;
    const double after = std::pow(history[i].time, 2) * history[i].energy_clover;
    if (before <= target && target <= after && after > before)
      return history[i - 1].time +
             (history[i].time - history[i - 1].time) * (target - before) / (after - before);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace trellis
