#pragma once
/// This file has the gradient flow (doc/conventions.md, Smearing and flow).
#include <memory>
#include <vector>

#include "trellis/field/algebra_field.hpp"
#include "trellis/gauge/topological_charge.hpp"

namespace trellis {

/// The flow is dV/dt = -(dS/dV) V for the action with beta = 6 (g0^2 = 1), by default the Wilson flow. The
/// integrator is the third-order Runge-Kutta one of M. Luescher, arXiv:1006.4518, eq. C.3. The object holds
/// the fields that a step needs.
class GradientFlow {
 public:
  explicit GradientFlow(const GaugeField& U, double c1 = 0.0);

  /// Makes one step of length epsilon. The error of a step is O(epsilon^4).
  void step(double epsilon);
  /// Makes the same step, and returns an estimate of its error: the largest |V - V'| / 9 of a link (Frobenius
  /// norm), with V' of the embedded second-order step exp(2 Z1 - Z0) V0 (P. Fritzsch and A. Ramos,
  /// arXiv:1301.4388, sec. 4.1). Collective.
  double step_with_error(double epsilon);
  /// Goes back to before the last step_with_error(). @pre there was one, and nothing since
  void undo_step();

  double time() const { return time_; }  ///< it is t / a^2
  const GaugeField& field() const { return V_; }

 private:
  /// The error estimate needs the field before the step, V' and its generator.
  struct Embedded {
    GaugeField before, field;
    AlgebraField generator;
    double time_before = 0;
    bool has_step = false;
  };
  void stage(double a, double b);
  GaugeField V_, next_;
  AlgebraField generator_;
  std::unique_ptr<Embedded> embedded_;
  double c1_, time_ = 0;
};

struct AdaptiveSteps {
  double tolerance = 1e-6;  ///< the error estimate of a step stays below it
  double first = 0.01;      ///< the first step has this length
  double largest = 0.2;     ///< no step is longer
};

/// It is the flow with steps as long as the tolerance allows: after a step with the error e the next one has
/// 0.95 (tolerance / e)^(1/3) times its length, and a step with e > tolerance is repeated. The steps are the
/// same for every decomposition.
class AdaptiveFlow {
 public:
  explicit AdaptiveFlow(const GaugeField& U, double c1 = 0.0, const AdaptiveSteps& steps = {});

  /// Flows on to t / a^2 = time, where the last step ends. @pre time >= time()
  void advance(double time);
  double time() const { return time_; }
  const GaugeField& field() const { return flow_.field(); }
  int steps() const { return steps_; }
  int repeated_steps() const { return repeated_; }

 private:
  GradientFlow flow_;
  AdaptiveSteps limits_;
  double next_, time_ = 0;
  int steps_ = 0, repeated_ = 0;
};

struct FlowPoint {
  double time, energy_clover, energy_plaquette, charge_clover;
};

/// Flows U to `time` in steps of epsilon (the last one shorter if need be) and measures at t = 0 and after
/// every `measure_every` steps and at the end. @pre epsilon > 0, time >= 0, measure_every >= 1
std::vector<FlowPoint> flow_history(const GaugeField& U, double time, double epsilon, int measure_every = 1,
                                    double c1 = 0.0);

/// Returns the flow time at which t^2 E reaches `target` (t0: 0.3), by linear interpolation of t^2 E between
/// the points, or NaN if the history does not reach it.
double flow_time_at(const std::vector<FlowPoint>& history, double target = 0.3);

}  // namespace trellis
