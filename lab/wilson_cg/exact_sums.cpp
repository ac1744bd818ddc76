/// This program measures what the order-free sums of a CG iteration cost: two norms inside hops and one
/// inside an update, each beside the same pass without a sum, in turn in one process. README.md beside this
/// file has the numbers.
///
///   lab_wilson_cg_exact_sums [--lattice X.Y.Z.T] [--precision double,float] [--link-reals 12] [--rounds N]
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "bench/fields.hpp"
#include "bench/options.hpp"
#include "lab/wilson_cg/timing.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::lab {
namespace {

double seconds_of(const std::function<void()>& f) {
  constexpr int repetitions = 10;
  const double start = processor_seconds();
  for (int i = 0; i < repetitions; ++i) f();
  return (processor_seconds() - start) / repetitions;
}

void measure(const GaugeField& U, Precision precision, int link_reals, int rounds) {
  WilsonParams params;
  params.mass = 1.0;
  const auto matrix = std::make_shared<WilsonMatrix>(U, params, KernelChoice{precision, link_reals});
  const WilsonSchur S(matrix, SchurForm::symmetric);
  SpinorField source = S.make_field(1), x = S.make_field(1), y = S.make_field(1);
  std::vector<double> reals(24, 0.0);
  reals[0] = 1.0;
  source.set_site({0, 0, 0}, 0, reals.data());
  for (int i = 0; i < 8; ++i) {  // the source is spread over all sites: zeros are no typical terms
    S.apply(x, source);
    scale(source, 1.0 / std::sqrt(norm2(x)), x);
  }
  const Coefficients one(1, 1.0), small(1, 1e-3);
  std::vector<double> with, without, iteration;
  for (int round = 0; round < rounds; ++round) {
    without.push_back(seconds_of([&] { S.apply(x, source); }) +
                      seconds_of([&] { S.apply_dagger(x, source); }) +
                      seconds_of([&] { combine(y, one, source, small, x); }));
    ColumnSums sums{.wants_norm2 = true};
    with.push_back(seconds_of([&] { S.apply(x, source, sums); }) +
                   seconds_of([&] { S.apply_dagger(x, source, sums); }) +
                   seconds_of([&] { combine_norm2(y, one, source, small, x); }));
    iteration.push_back(seconds_of_iteration(S, source));
  }
  const double plain = best_decile(without), summed = best_decile(with), all = best_decile(iteration);
  std::printf(
      "%s, %d link reals: three passes %.3f ms, with their sums %.3f ms, an iteration %.3f ms: sums are %.1f "
      "%% of it\n",
      name_of(precision), link_reals, plain * 1e3, summed * 1e3, all * 1e3, 100 * (summed - plain) / all);
}

int run(int argc, char** argv) {
  bench::Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  defaults.precisions = {Precision::double_precision, Precision::single_precision, Precision::half_precision};
  defaults.link_reals = {12};
  defaults.rounds = 21;
  const bench::Options options = bench::parse_options(argc, argv, defaults);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    bench::fill_random_su3(U, 1);
    std::printf("%s\n", to_string(extents).c_str());
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals) measure(U, precision, link_reals, options.rounds);
  }
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) { return trellis::lab::run(argc, argv); }
