/// This program finds what bounds the two hops of a staggered even-odd operator: it reads their links in
/// sequence, with and without the vectors, and does the hops one after the other, and in time slices, in turn
/// in one process. README.md beside this file has the numbers.
///
///   lab_two_hops_staggered [--lattice X.Y.Z.T] [--precision double,float] [--rounds N]
#include <cstdio>
#include <vector>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "bench/options.hpp"
#include "trellis/device/block_stream.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis::lab {
namespace {

void compare(const char* what, const StaggeredLinksPtr& links, Precision precision,
             const bench::Options& options) {
  const StaggeredHopping hop(links, StaggeredPhases{}, precision);
  SpinorField even = hop.make_field(Subset::even, 1), odd = hop.make_field(Subset::odd, 1);
  SpinorField out = SpinorField::like(even);
  bench::fill(even);
  std::vector<BlockStream> streams = links->near(precision)->streams();
  if (links->is_improved())
    for (const BlockStream& stream : links->far(precision)->streams()) streams.push_back(stream);
  const SiteRange all(even.layout().blocks());
  double bytes = 0;
  for (const BlockStream& stream : streams) bytes += double(stream.block_bytes) * all.size();
  constexpr int ways = 3, warm_calls = 36, calls = 4;
  std::vector<double> seconds[ways];
  for (int round = -1; round < options.rounds; ++round)
    for (int way = 0; way < ways; ++way) {
      const int times = round < 0 ? warm_calls : calls;
      const double start = bench::now();
      for (int i = 0; i < times; ++i) {
        if (way == 0) {
          read_streams(streams, all);  // this reads the links of D_oe
          read_streams(streams, all);  // this reads the links of D_eo
        } else {
          hop.apply_twice(out, odd, 0, even, {0.5}, {0.5},
                          way == 1 ? PassOrder::apart : PassOrder::in_slices);
        }
      }
      if (round >= 0) seconds[way].push_back((bench::now() - start) / calls);
    }
  const double links_alone = bench::median(seconds[0]);
  std::printf(
      "%s, %s, %s: links alone, in sequence, twice %.2f ms (%.1f GB/s), hops apart %.2f ms, in slices "
      "%.2f ms\n",
      what, name_of(precision), to_string(even.geometry().lattice()).c_str(), links_alone * 1e3,
      2e-9 * bytes / links_alone, bench::median(seconds[1]) * 1e3, bench::median(seconds[2]) * 1e3);
}

int run(const bench::Options& options) {
  set_thread_count(options.threads);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents)), fat(U.lattice_ptr());
    bench::fill_random_su3(U, 1);
    bench::fill_random_su3(fat, 2);
    const auto improved = [&](BackLinks back) {
      return std::make_shared<StaggeredLinks>(fat, U, -1.0 / 24.0, true, KernelChoice{}, back);
    };
    for (const Precision precision : options.precisions) {
      const auto naive = std::make_shared<StaggeredLinks>(U, KernelChoice{precision, 12});
      compare("naive", naive, precision, options);
      compare("improved", improved(BackLinks::none), precision, options);
      compare("improved, back links", improved(BackLinks::kept), precision, options);
    }
  }
  return 0;
}

bench::Options defaults() {
  bench::Options options;
  options.lattices = {{16, 16, 16, 16}, {16, 16, 16, 32}};
  options.precisions = {Precision::double_precision, Precision::single_precision};
  return options;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  return trellis::bench::run_benchmark({"The two hops of a staggered even-odd operator and what bounds them.",
                                        trellis::lab::defaults(), trellis::lab::run},
                                       argc, argv);
}
