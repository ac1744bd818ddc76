/// This program finds what is left of a rank's speed when others compute beside it, and when they exchange
/// halos, too; each has the fastest order of the two hops. README.md beside this file has the numbers.
///
///   mpirun -n 2 lab_two_ranks_hops [--lattice X.Y.Z.T] [--precision double,float] [--rounds N] [--seconds S]
#include <algorithm>
#include <cstdio>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis::lab {
namespace {

enum Rung { alone, at_once, exchanging, rungs };
constexpr const char* names[rungs] = {"first rank alone", "all at once, no exchange", "with exchange"};
constexpr PassOrder orders[] = {PassOrder::apart, PassOrder::in_slices, PassOrder::in_slices_read};
constexpr const char* order_names[] = {"hops apart", "in slices", "in slices that are read"};

/// A pair has two hops of one lattice.
class Pair {
 public:
  Pair(const LatticePtr& lattice, Precision precision, int link_reals)
      : U_(lattice),
        hop_{filled(U_), WilsonParams{}, {precision, link_reals, Backend::cpu, 0}},
        even_{hop_.make_field(Subset::even, 1)},
        odd_{hop_.make_field(Subset::odd, 1)},
        out_{SpinorField::like(even_)} {
    bench::fill(even_);
  }
  /// Two hops reach over two slices to each side.
  bool can_walk_in_slices() const { return even_.layout().sub_extents()[3] > 4; }
  void apply(PassOrder order) { hop_.apply_twice(out_, odd_, 0, even_, task_, task_, {}, order); }

 private:
  static const GaugeField& filled(GaugeField& U) {
    bench::fill_random_su3(U, 1);
    return U;
  }
  GaugeField U_;
  HoppingTerm hop_;
  SpinorField even_, odd_, out_;
  HopTask task_;
};

void compare(const Coord& local, Precision precision, int link_reals, const bench::Options& options) {
  Communicator& ranks = *world();
  Coord extents = local;
  extents[3] *= ranks.size();
  Pair own(make_lattice(local, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>()), precision, link_reals);
  Pair part(make_lattice(extents, {1, 1, 1, ranks.size()}), precision, link_reals);
  const size_t ways = own.can_walk_in_slices() && part.can_walk_in_slices() ? std::size(orders) : 1;
  constexpr int warm_pairs = 40;  // these take it past the trials of ways to read
  int pairs = warm_pairs;
  const auto seconds_of = [&](Rung rung, PassOrder order) {
    ranks.barrier();
    const double start = bench::now();
    for (int i = 0; i < pairs; ++i) {
      if (rung == exchanging)
        part.apply(order);
      else if (rung == at_once || ranks.rank() == 0)
        own.apply(order);
    }
    return ranks.maximum((bench::now() - start) / pairs);
  };
  std::vector<double> seconds[rungs][std::size(orders)];
  for (int round = -1; round < options.rounds; ++round) {
    for (int rung = alone; rung < rungs; ++rung)
      for (size_t way = 0; way < ways; ++way) {
        const double now = seconds_of(Rung(rung), orders[way]);
        if (round >= 0) seconds[rung][way].push_back(now);
      }
    if (round < 0) pairs = std::max(1, int(ranks.minimum(options.seconds / seconds_of(alone, orders[0]))));
  }
  if (ranks.rank() != 0) return;
  std::printf("%s, %d reals, %s on each of %d ranks\n", name_of(precision), link_reals,
              to_string(local).c_str(), ranks.size());
  double first = 0;
  for (int rung = alone; rung < rungs; ++rung) {
    double medians[std::size(orders)];
    for (size_t way = 0; way < ways; ++way) medians[way] = bench::median(seconds[rung][way]);
    const auto best = size_t(std::min_element(medians, medians + ways) - medians);
    if (rung == alone) first = medians[best];
    std::printf("  %-26s %9.1f us, %s", names[rung], medians[best] * 1e6, order_names[best]);
    if (rung != alone) std::printf("   %.2f times one", ranks.size() * first / medians[best]);
    if (best != 0) std::printf("   (%s %.1f us)", order_names[0], medians[0] * 1e6);
    std::printf("\n");
  }
}

int run(const bench::Options& options) {
  set_thread_count(options.threads);
  for (const Coord& local : options.lattices)
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals) compare(local, precision, link_reals, options);
  return 0;
}

bench::Options defaults() {
  bench::Options options;
  options.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  options.precisions = {Precision::double_precision, Precision::single_precision, Precision::half_precision};
  options.link_reals = {12};
  options.rhs = {1};
  return options;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  return trellis::bench::run_benchmark(
      {"A pair of Wilson hops of one rank alone, of all ranks at once, and with halos between them.",
       trellis::lab::defaults(), trellis::lab::run},
      argc, argv);
}
