/// This program measures solvers on the even-odd Wilson operator: milliseconds of a CG iteration and its
/// ratio to the hops in it; mixed precision against the fastest double CG; twelve batched sources against
/// twelve single solves. The gauge field comes from the heat bath at beta = 6 (a few sweeps from a cold
/// start: smooth enough for kappa = .134).
#include <algorithm>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

/// It is a solver and the fastest of its solves.
struct Row {
  std::string name;
  SolverSpec spec;
  LinearOperatorPtr inner;
  Precision precision = Precision::double_precision;  ///< the inner solver has it
  int rhs = 1;
  SolveReport report{};
};

SolveReport timed_solve(const Row& row, const LinearOperator& A) {
  SpinorField b = A.make_field(row.rhs);
  set_point_sources(b);
  SpinorField x = SpinorField::like(b);
  OperatorCopies copies(A);
  if (row.inner) copies.provide(row.inner);
  return solve(row.spec, copies, x, b);
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

Options defaults() {
  Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{16, 16, 16, 16}};
  defaults.link_reals = {12};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  return defaults;
}

/// Lists the storages of inner solvers that were asked for and that there are.
std::vector<Precision> inner_storages(const Options& options, int link_reals) {
  std::vector<Precision> found;
  for (const Precision precision : options.precisions)
    if (precision != Precision::double_precision && is_legal(precision, link_reals))
      found.push_back(precision);
  return found;
}

std::vector<Row> make_rows(const WilsonSchur& S, const std::vector<Precision>& inner) {
  const CgSpec cg{1e-10};
  std::vector<Row> rows = {{"cg double", cg, nullptr},
                           {"cg double, to 1e-3", CgSpec{1e-3}, nullptr},
                           {"bicgstab double", BicgstabSpec{1e-10}, nullptr}};
  for (const Precision precision : inner) {
    const LinearOperatorPtr A = S.converted(precision);
    const MixedPrecisionSpec mixed{cg, precision};
    const std::string name = std::string("cg double-") + name_of(precision);
    rows.push_back({name, mixed, A, precision});
    rows.push_back({name + ", 12 rhs", mixed, A, precision, 12});
  }
  return rows;
}

/// Adds the results of all rows on one lattice; returns what is made of several of them.
Json run(std::vector<Result>& results, const Coord& extents, int link_reals, const Options& options) {
  GaugeField U(make_lattice(extents));
  for (int sweep = 0; sweep < 30; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, uint32_t(sweep));
  WilsonParams params;
  params.mass = kappa_to_mass(0.134);
  const auto matrix =
      std::make_shared<WilsonMatrix>(U, params, KernelChoice{Precision::double_precision, link_reals});
  const WilsonSchur S(matrix, SchurForm::symmetric);
  std::vector<Row> rows = make_rows(S, inner_storages(options, link_reals));
  // All rows run in turn, and the best of each counts: a solve is too long for a median on a machine that
  // others use too.
  double hops = 0;
  const int rounds = std::min(options.rounds, 3);
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      const SolveReport report = timed_solve(row, S);
      if (round == 0 || report.seconds < row.report.seconds) row.report = report;
    }
    const double four_hops = 2 * seconds_of_two_hops(matrix);
    hops = round == 0 ? four_hops : std::min(hops, four_hops);
  }
  // An iteration is the difference of two solves, so that fields, first and last residuals are not in it.
  const SolveReport &base = rows[0].report, &shorter = rows[1].report;
  const double iteration =
      (base.seconds - shorter.seconds) / std::max(1, base.iterations - shorter.iterations);
  Json summary = {{"lattice", extents},
                  {"link_reals", link_reals},
                  {"cg_iteration_ms", rounded(iteration * 1e3)},
                  {"hops_of_it_ms", rounded(hops * 1e3)},
                  {"ratio_to_hops", rounded(iteration / hops)}};
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const double site_bytes = double(element_bytes(row.precision)) / sizeof(double);
    const double fields = 7.0 * row.rhs * double(S.make_field().bytes());
    Result r = solve_result("wilson_solver", row.name, row.report,
                            site_bytes * (double(matrix->hop().links().bytes()) + fields) * world()->size(),
                            row.precision, options);
    r.lattice = extents;
    r.link_reals = link_reals;
    r.rhs = row.rhs;
    r.more["speed_against_double_cg"] = rounded(base.seconds / row.report.seconds);
    results.push_back(r);
    if (row.rhs == 12)
      summary[std::string("twelve_batched_against_twelve_single_") + name_of(row.precision)] =
          rounded(12 * rows[i - 1].report.seconds / row.report.seconds);
  }
  return summary;
}

int bench(const Options& options) {
  set_thread_count(options.threads);
  std::vector<Result> results;
  Json summaries;
  for (const Coord& extents : options.lattices)
    for (const int link_reals : options.link_reals)
      summaries.push_back(run(results, extents, link_reals, options));
  return report(results, options, {}, {{"summaries", summaries}});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"Solves on the even-odd Wilson operator; --precision: storages inside, beside double.", defaults(),
       bench},
      argc, argv);
}
