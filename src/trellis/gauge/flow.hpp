#pragma once
/// The gradient flow (doc/conventions.md, Smearing and flow).
#include <vector>

#include "trellis/field/algebra_field.hpp"
#include "trellis/gauge/topological_charge.hpp"

namespace trellis {

/// dV/dt = -(dS/dV) V for the action with beta = 6 (g0^2 = 1); the Wilson flow by default. Third-order
/// Runge-Kutta integrator of M. Luescher, arXiv:1006.4518, eq. C.3. Holds the fields that a step needs.
class GradientFlow {
 public:
  explicit GradientFlow(const GaugeField& U, double c1 = 0.0);

  /// One step of length epsilon. Error of a step: O(epsilon^4).
  void step(double epsilon);
  double time() const { return time_; }  ///< t / a^2
  const GaugeField& field() const { return V_; }

 private:
  void stage(double a, double b);
  GaugeField V_, next_;
  AlgebraField generator_;
  double c1_, time_ = 0;
};

struct FlowPoint {
  double time, energy_clover, energy_plaquette, charge_clover;
};

/// Flows U to `time` in steps of epsilon (the last one shorter if need be) and measures at t = 0 and after
/// every `measure_every` steps and at the end. @pre epsilon > 0, time >= 0, measure_every >= 1
std::vector<FlowPoint> flow_history(const GaugeField& U, double time, double epsilon, int measure_every = 1,
                                    double c1 = 0.0);

/// The flow time at which t^2 E reaches `target` (t0: 0.3), by linear interpolation of t^2 E between the
/// points; NaN if the history does not reach it.
double flow_time_at(const std::vector<FlowPoint>& history, double target = 0.3);

}  // namespace trellis
