#include "trellis/measure/wilson_traces.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/conserved_current.hpp"
#include "trellis/measure/propagator.hpp"

namespace trellis {

namespace {
/// Solves x = M^-1 b for fields of any storage, with true residuals in the report.
SolveReport solve_columns(const WilsonMatrixPtr& matrix, const SolverSpec& solver, SpinorField& x,
                          const SpinorField& b) {
  SpinorField right = matrix->hop().make_field(Subset::full, b.rhs()), solution = SpinorField::like(right);
  convert(right, b);
  stop_together(x.lattice().communicator());  // fields of many columns take their time
  SolveReport report = solve(solver, WilsonOperator(matrix), solution, right);
  convert(x, solution);
  return report;
}
}  // namespace

WilsonTraces wilson_traces(const WilsonMatrixPtr& matrix, const GaugeField& U, const SpinorField& noise,
                           bool has_curvature, const SolverSpec& solver) {
  TRELLIS_REQUIRE(noise.subset() == Subset::full && noise.precision() == Precision::double_precision &&
                      matrix->choice().precision == Precision::double_precision,
                  "traces take full columns and an operator in double");
  Communicator& communicator = U.lattice().communicator();
  stop_together(communicator);
  const SpinorField columns = moved_to(noise, U.backend());
  const int Lt = matrix->lattice().extents()[3];
  const BoundaryPhases& boundary = matrix->params().boundary;
  stop_together(communicator);
  SpinorField X = SpinorField::like(columns), MX = X;
  stop_together(communicator);
  WilsonTraces traces;
  traces.report = solve_columns(matrix, solver, X, columns);
  traces.inverse = dot_each(columns, X);
  traces.gamma5 = dot_each(columns, spin_multiplied(X, gamma_product(15)));
  // mu/T = mu Lt is shared by Lt links: M' = Gamma / Lt, M'' = -1/2 (temporal hop) / Lt^2
  const ConservedCurrent charge(U, boundary, charge_weights());
  charge.apply(MX, X);
  scale(MX, 1.0 / Lt, MX);
  traces.density = dot_each(columns, MX);
  if (!has_curvature) return traces;
  WilsonParams isotropic;
  isotropic.boundary = boundary;
  KernelChoice choice;
  choice.backend = U.backend();
  const HoppingTerm temporal_hop(weighted(U, charge_weights()), isotropic, choice);
  SpinorField second = SpinorField::like(columns), Y = X;
  stop_together(communicator);
  for (int parity = 0; parity < 2; ++parity) temporal_hop.apply(second, parity, X, HopTask{});
  traces.curvature = dot_each(columns, second);
  traces.report.add(solve_columns(matrix, solver, Y, MX));
  charge.apply(second, Y);
  const auto loop = dot_each(columns, second);
  for (size_t i = 0; i < loop.size(); ++i)
    traces.curvature[i] = -0.5 / Lt / Lt * traces.curvature[i] - loop[i] / double(Lt);
  return traces;
}

}  // namespace trellis
