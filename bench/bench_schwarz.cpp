/// This program measures the Schwarz method: cycles over 4^4 blocks, beside the hop on a lattice that is as
/// large as a block, which says what the core could do.
#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/multigrid/schwarz.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/multigrid/schwarz.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis::bench {
namespace {

/// A prototype counted these flops a site of a cycle with four steps in blocks of 4^4.
constexpr double counted_flops = 8216;
constexpr int cycles = 3, iterations = 4;
const Coord block{4, 4, 4, 4};

const WilsonParams params{.mass = -0.3, .csw_spatial = 1.769, .csw_temporal = 1.769};

double error_against_reference(const GaugeField& U, const SpinorField& r, const SpinorField& z) {
  const auto level = std::make_shared<reference::WilsonLevel>(reference::WilsonOperator(
      to_reference(U), {.mass = params.mass, .c_r = params.csw_spatial, .c_t = params.csw_temporal}));
  const reference::Schwarz schwarz(level, block, reference::BlockSolver::mr_even_odd, iterations);
  double error = 0;
  for (int rhs = 0; rhs < r.rhs(); ++rhs) {
    const auto expected =
        schwarz.from_zero(reference::to_level(to_reference<Spinor<double>>(r, rhs)), cycles);
    error =
        larger(error, relative_error(to_reference<Spinor<double>>(z, rhs), reference::to_spinors(expected)));
  }
  return error;
}

/// Returns the flops a second of the hop on one block.
double hop_speed(Precision precision, int rhs, const Options& options) {
  GaugeField U(make_lattice(block, {1, 1, 1, 1}));
  fill_random_su3(U, 1);
  const HoppingTerm hop(U, WilsonParams{}, {precision, 12, Backend::cpu, 0});
  SpinorField even = hop.make_field(Subset::even, rhs), odd = hop.make_field(Subset::odd, rhs);
  SpinorField result_even = SpinorField::like(even);
  fill(even);
  Result r;
  const HopTask task;
  measure(r, options, [&] { hop.apply_twice(result_even, odd, 0, even, task, task); });
  return rhs * wilson_hop_flops * double(product(block)) / r.seconds;
}

Result run(const GaugeField& U, Precision precision, int rhs, const Options& options) {
  const Precision outside = is_16_bit(precision) ? Precision::single_precision : precision;
  const OperatorCopies M(LinearOperatorPtr(
      std::make_shared<WilsonOperator>(U, params, KernelChoice{.precision = outside, .link_reals = 12})));
  const auto schwarz =
      SolverSpec(
          SchwarzSpec{.block = block, .cycles = cycles, .iterations = iterations, .storage = precision})
          ->inside(M, rhs);
  SpinorField r = M->make_field(rhs), z = SpinorField::like(r);
  fill(r);
  SolveCost cost;
  schwarz->apply(z, r, cost);
  const double sites = double(U.geometry().volume());
  Result result;
  result.kernel = "schwarz";
  result.precision = precision;
  result.link_reals = 12;
  result.lattice = U.geometry().lattice();
  result.rhs = rhs;
  result.flops = cost.flops;
  result.must_move_bytes = cost.bytes;
  result.cost = cost;
  result.working_set = cost.bytes / cycles;
  SolveCost again;
  measure(result, options, [&] { schwarz->apply(z, r, again); });
  const double a_cycle = result.seconds / (cycles * rhs * sites);
  result.more["cycle_us_per_site"] = 1e6 * a_cycle;
  const double speed = hop_speed(precision, rhs, options);
  result.more["block_hop_gflops"] = 1e-9 * speed;
  result.more["times_hop"] = a_cycle / (counted_flops / speed);
  if (options.check) result.error = error_against_reference(U, r, z);
  return result;
}

Options defaults() {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.rhs = {1, 4};
  return defaults;
}

int bench(const Options& options) {
  std::vector<Result> results;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int rhs : options.rhs) results.push_back(run(U, precision, rhs, options));
  }
  return report(results, options, {.in_double = 1e-12, .in_float = 1e-4, .in_half = 1e-2, .in_fp16 = 3e-2});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark({"The Schwarz method: three cycles over blocks of 4^4.", defaults(), bench}, argc,
                       argv);
}
