/// Solves on the even-odd staggered operator: a CG iteration, the multi-shift CG of an order-12 rational
/// function against CG for its smallest shift in the same storage, and CG with HISQ links. The gauge field
/// comes from a few heat-bath sweeps at beta = 6; the shifts are those of a rational function for x^(-1/4).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "bench/measurement.hpp"
#include "bench/options.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

constexpr double mass = 0.02;

/// Poles of x^(-1/4) spread evenly in the logarithm over the spectrum, as those of a best approximation are.
std::vector<double> order_12_shifts() {
  std::vector<double> shifts;
  for (int k = 0; k < 12; ++k) shifts.push_back(1e-4 * std::pow(2e5, k / 11.0));
  return shifts;
}

struct Row {
  std::string name;
  int iterations;
  double seconds, mean_active_shifts, residual;
  double per_iteration() const { return seconds / std::max(iterations, 1); }
};

SpinorField point_source(const LinearOperator& A) {
  SpinorField b = A.make_field();
  const Geometry& g = b.geometry();
  double unit[6] = {1, 0, 0, 0, 0, 0};
  if (g.owns({0, 0, 0, 0})) b.set_site(b.layout().position(g.to_local({0, 0, 0, 0})), 0, unit);
  return b;
}

/// The recursion alone: `tolerance` is what it claims in its storage.
Row timed_shifts(const char* name, const LinearOperatorPtr& A, const std::vector<double>& shifts,
                 Precision precision, double tolerance) {
  const SpinorField b = point_source(*A);
  std::vector<SpinorField> x(shifts.size(), b);
  MultiShiftSpec spec{tolerance, 20000};
  spec.precision = precision;
  const LinearOperatorPtr inner =
      precision == Precision::double_precision ? nullptr : A->converted(precision);
  const SolveReport report = multi_shift_cg(A, shifts, x, b, spec, inner);
  return {name, report.iterations, report.seconds, report.mean_active_shifts, report.largest_residual()};
}

Row timed_cg(const char* name, const LinearOperatorPtr& A, double tolerance) {
  const SpinorField b = point_source(*A);
  SpinorField x = SpinorField::like(b);
  const SolveReport report = solve(CgSpec{tolerance, 20000}, *A, x, b);
  return {name, report.iterations, report.seconds, 1.0, report.largest_residual()};
}

std::vector<Row> run(const Coord& extents) {
  GaugeField U(make_lattice(extents));
  for (uint32_t sweep = 0; sweep < 6; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, sweep);
  KernelChoice compressed;
  compressed.link_reals = 12;
  const auto naive = std::make_shared<StaggeredSchur>(std::make_shared<StaggeredMatrix>(
      std::make_shared<StaggeredLinks>(U, compressed), StaggeredPhases{}, mass));
  const HisqLinks hisq(U);
  const auto improved = std::make_shared<StaggeredSchur>(std::make_shared<StaggeredMatrix>(
      std::make_shared<StaggeredLinks>(hisq.fat(), hisq.long_field(), hisq_long_coefficient()),
      StaggeredPhases{}, mass));
  const std::vector<double> shifts = order_12_shifts();
  const Precision full = Precision::double_precision, low = Precision::single_precision;
  return {timed_cg("cg, double", naive, 1e-8),
          timed_shifts("1 shift, double", naive, {shifts[0]}, full, 1e-8),
          timed_shifts("12 shifts, double", naive, shifts, full, 1e-8),
          timed_shifts("1 shift, float", naive, {shifts[0]}, low, 1e-4),
          timed_shifts("12 shifts, float", naive, shifts, low, 1e-4),
          timed_shifts("12 shifts, float and corrections", naive, shifts, low, 1e-8),
          timed_cg("HISQ cg, double", improved, 1e-8)};
}

int bench(int argc, char** argv) {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  const Options options = parse_options(argc, argv, defaults);
  set_thread_count(options.threads);
  for (const Coord& extents : options.lattices) {
    const std::vector<Row> rows = run(extents);
    if (world()->rank() != 0) continue;
    if (options.json) std::printf("{\"lattice\": \"%s\", \"results\": [", to_string(extents).c_str());
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& r = rows[i];
      if (options.json)
        std::printf(
            "%s{\"name\": \"%s\", \"iterations\": %d, \"seconds\": %.6g, \"ms_per_iteration\": %.6g, "
            "\"mean_active_shifts\": %.3f, \"largest_residual\": %.3g}",
            i ? ", " : "", r.name.c_str(), r.iterations, r.seconds, 1e3 * r.per_iteration(),
            r.mean_active_shifts, r.residual);
      else
        std::printf("%-34s %6d iterations %9.3f ms each %6.2f active shifts  |r|/|b| %.2e\n", r.name.c_str(),
                    r.iterations, 1e3 * r.per_iteration(), r.mean_active_shifts, r.residual);
    }
    if (options.json) std::printf("]}\n");
  }
  return 0;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::bench::bench, argc, argv); }
