/// This program takes the two hops of an even-odd operator, one after the other, in time slices, and in time
/// slices that are read in sequence before, in turn in one process. README.md beside this file has the
/// numbers.
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
  constexpr PassOrder orders[] = {PassOrder::apart, PassOrder::in_slices, PassOrder::in_slices_read};
  std::vector<double> seconds[3];
  constexpr int warm_calls = 36;
  for (int round = -1; round < options.rounds; ++round)
    for (size_t k = 0; k < 3; ++k) {
      const int calls = round < 0 ? warm_calls : 4;
      const double start = bench::now();
      for (int i = 0; i < calls; ++i) hop.apply_twice(out, odd, 0, even, task, task, {}, orders[k]);
      if (round >= 0) seconds[k].push_back((bench::now() - start) / calls);
    }
  const double flops = wilson_hop_flops * double(U.geometry().volume()) * slots;
  double rates[3];
  for (size_t k = 0; k < 3; ++k) rates[k] = flops / bench::median(seconds[k]) * 1e-9;
  std::printf(
      "%s, %d reals, %s, %d spinors a site: apart %.2f GF/s, in slices %.2f (ratio %.3f), read slice "
      "by slice %.2f (%.3f)\n",
      name_of(precision), link_reals, to_string(U.geometry().lattice()).c_str(), slots, rates[0], rates[1],
      rates[1] / rates[0], rates[2], rates[2] / rates[0]);
}

int run(const bench::Options& options) {
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

bench::Options defaults() {
  bench::Options options;
  options.lattices = {{16, 16, 16, 16}, {24, 24, 24, 48}};
  options.precisions = {Precision::double_precision, Precision::single_precision, Precision::half_precision};
  options.link_reals = {12};
  options.rhs = {1};
  return options;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  return trellis::bench::run_benchmark(
      {"Both hops of an even-odd operator, one after the other and in time slices.", trellis::lab::defaults(),
       trellis::lab::run},
      argc, argv);
}
