/// Solvers on the even-odd Wilson operator: milliseconds of a CG iteration and its ratio to the hops in it;
/// mixed precision against the fastest double CG; twelve batched sources against twelve single solves. The
/// gauge field comes from the heat bath at beta = 6 (a few sweeps from a cold start: smooth enough for kappa
/// = .134).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/measurement.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/machine_speed.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

/// A source with one non-zero entry per right-hand side, as a propagator has.
void set_point_sources(SpinorField& b) {
  const Geometry& g = b.geometry();
  std::vector<double> reals(24, 0.0);
  if (!g.owns({0, 0, 0, 0})) return;
  for (int rhs = 0; rhs < b.rhs(); ++rhs) {
    std::fill(reals.begin(), reals.end(), 0.0);
    reals[size_t(2 * (rhs % 12))] = 1.0;
    b.set_site(b.layout().position(g.to_local({0, 0, 0, 0})), rhs, reals.data());
  }
}

/// A solver and the fastest of its solves.
struct Row {
  const char* name;
  SolverSpec spec;
  LinearOperatorPtr inner;
  int rhs = 1;
  SolveReport report{};
};

SolveReport timed_solve(const Row& row, const LinearOperator& A) {
  SpinorField b = A.make_field(row.rhs);
  set_point_sources(b);
  SpinorField x = SpinorField::like(b);
  return solve(row.spec, A, x, b, row.inner);
}

double seconds_of_two_hops(const WilsonMatrixPtr& matrix) {
  SpinorField even = matrix->hop().make_field(Subset::even, 1),
              odd = matrix->hop().make_field(Subset::odd, 1);
  SpinorField out = matrix->hop().make_field(Subset::even, 1);
  set_point_sources(even);
  const HopTask task;
  std::vector<double> times;
  for (int round = 0; round < 15; ++round) {
    const double start = now();
    for (int i = 0; i < 5; ++i) {
      matrix->hop().apply_twice(out, odd, 0, even, task, task);
    }
    times.push_back((now() - start) / 5);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int bench(int argc, char** argv) {
  Options defaults;
  defaults.lattices = {{16, 16, 16, 16}};
  defaults.link_reals = {12};
  const Options options = parse_options(argc, argv, defaults);
  set_thread_count(options.threads);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    for (int sweep = 0; sweep < 30; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, uint32_t(sweep));
    WilsonParams params;
    params.mass = kappa_to_mass(0.134);
    const auto matrix = std::make_shared<WilsonMatrix>(
        U, params, KernelChoice{Precision::double_precision, options.link_reals[0]});
    const WilsonSchur S(matrix, SchurForm::symmetric);
    const auto single = S.converted(Precision::single_precision),
               half = S.converted(Precision::half_precision), fp16 = S.converted(Precision::fp16_precision);
    const CgSpec cg{1e-10};
    const MixedPrecisionSpec cg_float{cg, Precision::single_precision},
        cg_half{cg, Precision::half_precision}, cg_fp16{cg, Precision::fp16_precision};
    std::vector<Row> rows = {{"cg double", cg, nullptr},
                             {"cg double, to 1e-3", CgSpec{1e-3}, nullptr},
                             {"cg double-float", cg_float, single},
                             {"cg double-half", cg_half, half},
                             {"bicgstab double", BicgstabSpec{1e-10}, nullptr},
                             {"cg double-float, 12 rhs", cg_float, single, 12},
                             {"cg double-half, 12 rhs", cg_half, half, 12},
                             {"cg double-fp16", cg_fp16, fp16},
                             {"cg double-fp16, 12 rhs", cg_fp16, fp16, 12}};
    // in turn, the best of each: a solve is too long for a median on a machine that others use too
    double hops = 0, read_bandwidth = 0;
    ReadBandwidth bandwidth(matrix->hop().links().bytes() + 7 * S.make_field().bytes(), options.threads);
    const int rounds = std::min(options.rounds, 3);
    for (int round = 0; round < rounds; ++round) {
      for (Row& row : rows) {
        const SolveReport report = timed_solve(row, S);
        if (round == 0 || report.seconds < row.report.seconds) row.report = report;
      }
      const double four_hops = 2 * seconds_of_two_hops(matrix);
      hops = round == 0 ? four_hops : std::min(hops, four_hops);
      read_bandwidth = std::max(read_bandwidth, bandwidth.measure(options.seconds));
    }
    if (world()->rank() != 0) continue;
    // an iteration: the difference of two solves, so that fields, first and last residuals are not in it
    const SolveReport &base = rows[0].report, &shorter = rows[1].report;
    const double iteration =
        (base.seconds - shorter.seconds) / std::max(1, base.iterations - shorter.iterations);
    std::printf(
        "{\"lattice\": \"%s\", \"threads\": %d, \"ranks\": %d, \"cg_iteration_ms\": %.3f, \"hops_of_it_ms\": "
        "%.3f, "
        "\"ratio_to_hops\": %.3f, \"read_bandwidth_gbytes_per_second\": %.2f, \"solves\": [",
        to_string(extents).c_str(), options.threads, world()->size(), iteration * 1e3, hops * 1e3,
        iteration / hops, read_bandwidth * world()->size() * 1e-9);
    for (size_t i = 0; i < rows.size(); ++i)
      std::printf(
          "%s\n  {\"solver\": \"%s\", \"iterations\": %d, \"seconds\": %.3f, \"relative_residual\": %.2e, "
          "\"gflops\": %.2f, \"speed_against_double_cg\": %.2f}",
          i ? "," : "", rows[i].name, rows[i].report.iterations, rows[i].report.seconds,
          rows[i].report.largest_residual(), rows[i].report.gflops(), base.seconds / rows[i].report.seconds);
    std::printf(
        "\n], \"twelve_batched_against_twelve_single\": %.2f, "
        "\"twelve_batched_against_twelve_single_float\": %.2f}\n",
        12 * rows[3].report.seconds / rows[6].report.seconds,
        12 * rows[2].report.seconds / rows[5].report.seconds);
  }
  return 0;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::bench::bench, argc, argv); }
