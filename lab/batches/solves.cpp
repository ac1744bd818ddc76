/// This program says what a source costs when several are solved together: its share of the hops, of an
/// iteration of CG, and of a whole mixed-precision solve, in turn in one process. README.md beside this file
/// has the numbers.
///
///   lab_batches_solves [--lattice X.Y.Z.T] [--precision float,half] [--link-reals 12] [--rhs 1,2,4,12]
///   [--rounds N]
#include <cstdio>
#include <vector>

#include "bench/measurement.hpp"
#include "lab/wilson_cg/timing.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::lab {
namespace {

constexpr int sources = 12;

enum Rung { four_hops, iteration, whole_solve, rungs };
constexpr const char* names[rungs] = {"four hops", "iteration", "whole solve"};

/// Sets the right-hand sides `first`, `first` + 1 and so on of the twelve of a point source.
void set_sources(SpinorField& b, int first) {
  std::vector<double> reals(24);
  for (int rhs = 0; rhs < b.rhs(); ++rhs) {
    reals.assign(24, 0.0);
    reals[size_t(2 * (first + rhs))] = 1.0;
    b.set_site({0, 0, 0}, rhs, reals.data());
  }
}

/// It has an operator in the storage inside, and says how many columns go together.
class Batches {
 public:
  Batches(const WilsonSchur& outside, const WilsonMatrixPtr& matrix, Precision precision, int columns)
      : outside_{outside},
        inside_{outside.converted(precision)},
        hop_{matrix},
        precision_{precision},
        columns_{columns},
        even_{inside_->make_field(columns)},
        odd_{matrix->hop().make_field(Subset::odd, columns)},
        out_{SpinorField::like(even_)} {
    set_sources(even_, 0);
  }
  /// Returns the seconds of one source.
  double seconds(Rung rung) {
    switch (rung) {
      case four_hops:
        return of_hops();
      case iteration:
        return seconds_of_iteration(*inside_, even_) / columns_;
      default:
        return of_solves();
    }
  }

 private:
  double of_hops() {
    constexpr int pairs = 20;
    const HopTask task;
    const double start = processor_seconds();
    for (int i = 0; i < pairs; ++i) hop_->hop().apply_twice(out_, odd_, 0, even_, task, task);
    return 2 * (processor_seconds() - start) / pairs / columns_;
  }
  double of_solves() {
    const MixedPrecisionSpec spec{CgSpec{1e-10}, precision_};
    const double start = processor_seconds();
    for (int first = 0; first < sources; first += columns_) {
      SpinorField b = outside_.make_field(columns_), x = SpinorField::like(b);
      set_sources(b, first);
      solve(spec, OperatorCopies(outside_).provide(inside_), x, b);
    }
    return (processor_seconds() - start) / sources;
  }
  const WilsonSchur& outside_;
  LinearOperatorPtr inside_;
  WilsonMatrixPtr hop_;
  Precision precision_;
  int columns_;
  SpinorField even_, odd_, out_;
};

void compare(const GaugeField& U, Precision precision, int link_reals, const bench::Options& options) {
  WilsonParams params;
  params.mass = kappa_to_mass(0.134);
  const auto matrix_of = [&](Precision storage) {
    return std::make_shared<WilsonMatrix>(U, params, KernelChoice{storage, link_reals});
  };
  const WilsonSchur S(matrix_of(Precision::double_precision), SchurForm::symmetric);
  const WilsonMatrixPtr inside = matrix_of(precision);
  std::vector<Batches> batches;
  for (const int columns : options.rhs) batches.emplace_back(S, inside, precision, columns);
  std::vector<std::vector<double>> seconds[rungs];
  for (auto& of_rung : seconds) of_rung.resize(batches.size());
  for (int round = -1; round < options.rounds; ++round)  // the first one warms up, and tries ways to walk
    for (int rung = 0; rung < rungs; ++rung)
      for (size_t i = 0; i < batches.size(); ++i) {
        const double now = batches[i].seconds(Rung(rung));
        if (round >= 0) seconds[rung][i].push_back(now);
      }
  std::printf("%s, %d link reals, %s: ms a source (times as fast as the first)\n", name_of(precision),
              link_reals, to_string(U.lattice().geometry().lattice()).c_str());
  for (int rung = 0; rung < rungs; ++rung) {
    std::printf("  %-12s", names[rung]);
    const double first = bench::median(seconds[rung][0]);
    for (size_t i = 0; i < batches.size(); ++i) {
      const double one = bench::median(seconds[rung][i]);
      std::printf("  %2d: %8.2f (%.2f)", options.rhs[i], one * 1e3, first / one);
    }
    std::printf("\n");
  }
}

int run(const bench::Options& options) {
  set_thread_count(options.threads);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    for (int sweep = 0; sweep < 30; ++sweep) heatbath_update(U, {6.0, 1, 1}, 1, 0, uint32_t(sweep));
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals) compare(U, precision, link_reals, options);
  }
  return 0;
}

bench::Options defaults() {
  bench::Options options;
  options.is_checkable = false;
  options.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  options.precisions = {Precision::single_precision, Precision::half_precision, Precision::fp16_precision};
  options.link_reals = {12};
  options.rhs = {1, 2, 4, 12};
  options.rounds = 5;
  return options;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  return trellis::bench::run_benchmark(
      {"What a source costs when several are solved together; --rhs: how many, each a divisor of 12.",
       trellis::lab::defaults(), trellis::lab::run},
      argc, argv);
}
