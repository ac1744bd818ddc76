/// The two hops of an even-odd operator, one after the other and in time slices, in turn in one process.
/// README.md beside this file has the numbers.
///
///   lab_two_hops_slices [--lattice X.Y.Z.T] [--precision double,float] [--link-reals 12] [--rhs Ls]
///   [--rounds N]
#include <cstdio>
#include <vector>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "bench/options.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::lab {
namespace {

void compare(const GaugeField& U, Precision precision, int link_reals, int slots,
             const bench::Options& options) {
  const HoppingTerm hop(U, WilsonParams{}, KernelChoice{precision, link_reals});
  SpinorField even = hop.make_field(Subset::even, 1, slots), odd = hop.make_field(Subset::odd, 1, slots);
  SpinorField out = hop.make_field(Subset::even, 1, slots);
  bench::fill(even);
  const HopTask task;
  std::vector<double> seconds[2];
  constexpr int warm_calls = 24;
  for (int round = -1; round < options.rounds; ++round)
    for (const PassOrder order : {PassOrder::apart, PassOrder::in_slices}) {
      const int calls = round < 0 ? warm_calls : 4;
      const double start = bench::now();
      for (int i = 0; i < calls; ++i) hop.apply_twice(out, odd, 0, even, task, task, {}, order);
      if (round >= 0) seconds[order == PassOrder::in_slices].push_back((bench::now() - start) / calls);
    }
  const double flops = wilson_hop_flops * double(U.geometry().volume()) * slots;
  const double apart = bench::median(seconds[0]), slices = bench::median(seconds[1]);
  std::printf("%s, %d reals, %s, %d spinors a site: apart %.2f GF/s, in slices %.2f, ratio %.3f\n",
              name_of(precision), link_reals, to_string(U.geometry().lattice()).c_str(), slots,
              flops / apart * 1e-9, flops / slices * 1e-9, apart / slices);
}

int run(int argc, char** argv) {
  bench::Options defaults;
  defaults.lattices = {{16, 16, 16, 16}, {24, 24, 24, 48}};
  defaults.precisions = {Precision::double_precision, Precision::single_precision, Precision::half_precision};
  defaults.link_reals = {12};
  defaults.rhs = {1};
  const bench::Options options = bench::parse_options(argc, argv, defaults);
  set_thread_count(options.threads);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    bench::fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals)
        for (const int slots : options.rhs) compare(U, precision, link_reals, slots, options);
  }
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::lab::run, argc, argv); }
