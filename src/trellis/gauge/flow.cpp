#include "trellis/gauge/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/flow.hpp"
#include "trellis/kernels/gauge/link_distance.hpp"

namespace trellis {

GradientFlow::GradientFlow(const GaugeField& U, double c1) : V_{U}, next_{U}, generator_{U}, c1_{c1} {
  require_all_directions(U.geometry(), "the gradient flow");
}

/// W <- a TA(A V^dagger) + b W, V <- exp(W) V
void GradientFlow::stage(double a, double b) {
  FlowStageCall call;
  call.gauge = gauge_call(V_);
  call.out = next_.raw();
  call.generator = generator_.raw();
  call.a = a;
  call.b = b;
  call.c0 = GaugeAction{1.0, c1_}.c0();
  call.c1 = c1_;
  dispatch_gauge(
      V_, [&]<class Layout, class Storage>() { launch_flow_stage<Layout, Storage>(call, inner_sites(V_)); });
  next_.halo_is_stale();
  std::swap(V_, next_);
}

/// V1 = exp(Z0/4) V0, V2 = exp(8/9 Z1 - 17/36 Z0) V1, V3 = exp(3/4 Z2 - 8/9 Z1 + 17/36 Z0) V2: each exponent
/// is the last one times -17/9 or -1, and a new term.
void GradientFlow::step(double epsilon) {
  stop_together(V_.lattice().communicator());
  stage(epsilon / 4, 0);
  stage(epsilon * 8 / 9, -17.0 / 9);
  stage(epsilon * 3 / 4, -1);
  time_ += epsilon;
}

/// The stages leave W1 = Z0/4 and W2 = 8/9 Z1 - 17/9 W1 in the generator: 2 Z1 - Z0 = 9/4 W2 + 1/4 W1.
double GradientFlow::step_with_error(double epsilon) {
  stop_together(V_.lattice().communicator());
  if (!embedded_) embedded_.reset(new Embedded{V_, V_, AlgebraField(V_)});
  Embedded& e = *embedded_;
  e.before = V_;
  e.time_before = time_;
  e.generator.set_zero();
  stage(epsilon / 4, 0);
  add(e.generator, 1.0 / 4, generator_);
  stage(epsilon * 8 / 9, -17.0 / 9);
  add(e.generator, 9.0 / 4, generator_);
  stage(epsilon * 3 / 4, -1);
  time_ += epsilon;
  e.field = e.before;
  drift(e.field, e.generator, 1.0);
  e.has_step = true;
  double largest = 0;
  dispatch_gauge(V_, [&]<class Layout, class Storage>() {
    largest = launch_link_distance<Layout, Storage>(V_.raw(), e.field.raw(), inner_sites(V_));
  });
  return std::sqrt(V_.lattice().communicator().maximum(largest)) / 9;
}

void GradientFlow::undo_step() {
  TRELLIS_REQUIRE(embedded_ && embedded_->has_step, "there is no step to undo");
  V_ = embedded_->before;
  time_ = embedded_->time_before;
  embedded_->has_step = false;
}

AdaptiveFlow::AdaptiveFlow(const GaugeField& U, double c1, const AdaptiveSteps& steps)
    : flow_{U, c1}, limits_{steps}, next_{steps.first} {
  TRELLIS_REQUIRE(steps.tolerance > 0, "flow tolerance ", steps.tolerance);
  TRELLIS_REQUIRE(steps.first > 0 && steps.largest >= steps.first, "first flow step ", steps.first,
                  ", largest ", steps.largest);
}

void AdaptiveFlow::advance(double time) {
  TRELLIS_REQUIRE(time >= time_, "the flow is at t = ", time_, ", it cannot go back to ", time);
  while (time_ < time) {
    const double rest = time - time_;
    const bool is_last = rest <= next_;
    const double epsilon = is_last ? rest : std::min(next_, rest / 2);
    const double error = flow_.step_with_error(epsilon);
    if (!std::isfinite(error)) throw NumericError(message("the flow left the finite numbers at t = ", time_));
    const double factor = std::clamp(0.95 * std::cbrt(limits_.tolerance / std::max(error, 1e-300)), 0.2, 2.0);
    const double proposal = std::min(limits_.largest, epsilon * factor);
    if (error > limits_.tolerance) {
      flow_.undo_step();
      ++repeated_;
      next_ = std::min(proposal, 0.95 * epsilon);
      if (next_ < 1e-9)
        throw NumericError(message("a flow step at t = ", time_, " has the error ", error, ", above ",
                                   limits_.tolerance, ", at any length: the tolerance is too small"));
      continue;
    }
    ++steps_;
    next_ = epsilon < next_ ? std::max(next_, proposal) : proposal;
    time_ = is_last ? time : time_ + epsilon;
  }
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
