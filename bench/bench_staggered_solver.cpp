/// This program measures solves on the even-odd staggered operator: a CG iteration, the multi-shift CG of an
/// order-12 rational function against CG for its smallest shift in the same storage, and CG with HISQ links.
/// The gauge field comes from a few heat-bath sweeps at beta = 6; the shifts are those of a rational function
/// for x^(-1/4).
#include <algorithm>
#include <cmath>

#include "bench/measurement.hpp"
#include "bench/options.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

constexpr double mass = 0.02;

/// Returns poles of x^(-1/4) spread evenly in the logarithm over the spectrum, as those of a best
/// approximation are.
std::vector<double> order_12_shifts() {
  std::vector<double> shifts;
  for (int k = 0; k < 12; ++k) shifts.push_back(1e-4 * std::pow(2e5, k / 11.0));
  return shifts;
}

struct Row {
  std::string name;
  SolveReport report;
  double mean_active_shifts;
  Precision precision;  ///< it is that of the recursion
  int link_reals;
  double working_set;  ///< links and fields of all ranks take it
};

/// Returns the bytes in double; in float they are half of it.
double working_set(const StaggeredLinks& links, const SpinorField& field, int fields) {
  const Precision full = Precision::double_precision;
  const double far = links.is_improved() ? double(links.far(full)->bytes()) : 0.0;
  return (double(links.near(full)->bytes()) + far + fields * double(field.bytes())) * world()->size();
}

SpinorField point_source(const LinearOperator& A) {
  SpinorField b = A.make_field();
  const Geometry& g = b.geometry();
  double unit[6] = {1, 0, 0, 0, 0, 0};
  if (g.owns({0, 0, 0, 0})) b.set_site(b.layout().position(g.to_local({0, 0, 0, 0})), 0, unit);
  return b;
}

/// Times the recursion alone: `tolerance` is what it claims in its storage.
Row timed_shifts(const char* name, const StaggeredLinks& links, const LinearOperatorPtr& A,
                 const std::vector<double>& shifts, Precision precision, double tolerance) {
  const SpinorField b = point_source(*A);
  std::vector<SpinorField> x(shifts.size(), b);
  MultiShiftSpec spec{tolerance, 20000};
  spec.precision = precision;
  const LinearOperatorPtr inner =
      precision == Precision::double_precision ? nullptr : A->converted(precision);
  const SolveReport report = multi_shift_cg(A, shifts, x, b, spec, inner);
  const double bytes = working_set(links, b, 3 + 2 * int(shifts.size()));
  return {name,      report, report.mean_active_shifts,
          precision, 12,     precision == Precision::double_precision ? bytes : bytes / 2};
}

Row timed_cg(const char* name, const StaggeredLinks& links, const LinearOperatorPtr& A, double tolerance) {
  const SpinorField b = point_source(*A);
  SpinorField x = SpinorField::like(b);
  const SolveReport report = solve(CgSpec{tolerance, 20000}, *A, x, b);
  return {name,
          report,
          1.0,
          Precision::double_precision,
          links.is_improved() ? 32 : 12,
          working_set(links, b, 4)};
}

std::vector<Row> run(const Coord& extents) {
  GaugeField U(make_lattice(extents));
  for (uint32_t sweep = 0; sweep < 6; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, sweep);
  KernelChoice compressed;
  compressed.link_reals = 12;
  const auto thin = std::make_shared<StaggeredLinks>(U, compressed);
  const auto naive =
      std::make_shared<StaggeredSchur>(std::make_shared<StaggeredMatrix>(thin, StaggeredPhases{}, mass));
  const HisqLinks hisq(U);
  const auto fat = std::make_shared<StaggeredLinks>(hisq.fat(), hisq.long_field(), hisq_long_coefficient());
  const auto improved =
      std::make_shared<StaggeredSchur>(std::make_shared<StaggeredMatrix>(fat, StaggeredPhases{}, mass));
  const std::vector<double> shifts = order_12_shifts();
  const Precision full = Precision::double_precision, low = Precision::single_precision;
  return {timed_cg("cg, double", *thin, naive, 1e-8),
          timed_shifts("1 shift, double", *thin, naive, {shifts[0]}, full, 1e-8),
          timed_shifts("12 shifts, double", *thin, naive, shifts, full, 1e-8),
          timed_shifts("1 shift, float", *thin, naive, {shifts[0]}, low, 1e-4),
          timed_shifts("12 shifts, float", *thin, naive, shifts, low, 1e-4),
          timed_shifts("12 shifts, float and corrections", *thin, naive, shifts, low, 1e-8),
          timed_cg("HISQ cg, double", *fat, improved, 1e-8)};
}

Options defaults() {
  Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  return defaults;
}

int bench(const Options& options) {
  set_thread_count(options.threads);
  std::vector<Result> results;
  for (const Coord& extents : options.lattices)
    for (const Row& row : run(extents)) {
      Result r =
          solve_result("staggered_solver", row.name, row.report, row.working_set, row.precision, options);
      r.lattice = extents;
      r.link_reals = row.link_reals;
      r.more["ms_per_iteration"] = rounded(1e3 * row.report.seconds / std::max(row.report.iterations, 1));
      r.more["mean_active_shifts"] = rounded(row.mean_active_shifts);
      results.push_back(r);
    }
  return report(results, options);
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"Solves on the even-odd staggered operator: CG, multi-shift CG, HISQ links.", defaults(), bench}, argc,
      argv);
}
