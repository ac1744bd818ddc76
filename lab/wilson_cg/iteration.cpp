/// This program measures what a CG iteration costs beside its hops, with the norms inside the last hop and as
/// passes of their own, in turn in one process. README.md beside this file has the numbers.
///
///   lab_wilson_cg_iteration [--lattice X.Y.Z.T] [--precision double,float] [--link-reals 12] [--rounds N]
#include <cstdio>
#include <vector>

#include "bench/fields.hpp"
#include "bench/options.hpp"
#include "lab/wilson_cg/timing.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::lab {
namespace {

/// It is an operator whose norms are passes of their own.
class SeparateNorms final : public LinearOperator {
 public:
  explicit SeparateNorms(const LinearOperator& A) : A_{A} {}
  FieldSpec domain(int columns) const override { return A_.domain(columns); }
  const LatticePtr& domain_lattice() const override { return A_.domain_lattice(); }
  Cost cost(int columns) const override { return A_.cost(columns); }
  LinearOperatorPtr converted(Precision precision) const override { return A_.converted(precision); }
  std::string name() const override { return A_.name(); }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const override {
    is_dagger ? A_.apply_dagger(out, in) : A_.apply(out, in);
  }
  const LinearOperator& A_;
};

double seconds_of_four_hops(const HoppingTerm& hop, SpinorField& even, SpinorField& odd) {
  constexpr int pairs = 20;
  const double start = processor_seconds();
  for (int i = 0; i < pairs; ++i) {
    hop.apply(odd, 1, even, {});
    hop.apply(even, 0, odd, {});
  }
  return 2 * (processor_seconds() - start) / pairs;
}

void compare(const GaugeField& U, Precision precision, int link_reals, int rounds) {
  WilsonParams params;
  params.mass = 1.0;  // it is well conditioned, whatever the links are
  const auto matrix = std::make_shared<WilsonMatrix>(U, params, KernelChoice{precision, link_reals});
  const WilsonSchur S(matrix, SchurForm::symmetric);
  const SeparateNorms separate(S);
  SpinorField source = S.make_field(1), even = S.make_field(1);
  SpinorField odd = matrix->hop().make_field(Subset::odd, 1);
  std::vector<double> reals(24, 0.0);
  reals[0] = 1.0;
  source.set_site({0, 0, 0}, 0, reals.data());
  std::vector<double> hops, apart, inside;
  for (int round = 0; round < rounds; ++round) {
    even = source;
    hops.push_back(seconds_of_four_hops(matrix->hop(), even, odd));
    apart.push_back(seconds_of_iteration(separate, source));
    inside.push_back(seconds_of_iteration(S, source));
  }
  std::printf(
      "%s, %d link reals: four hops %.2f ms, iteration with norms apart %.2f ms (%.3f), inside %.2f ms "
      "(%.3f)\n",
      name_of(precision), link_reals, best_decile(hops) * 1e3, best_decile(apart) * 1e3,
      best_decile(apart) / best_decile(hops), best_decile(inside) * 1e3,
      best_decile(inside) / best_decile(hops));
}

int run(int argc, char** argv) {
  bench::Options defaults;
  defaults.lattices = {{16, 16, 16, 16}};
  defaults.precisions = {Precision::double_precision, Precision::single_precision, Precision::half_precision,
                         Precision::fp16_precision};
  defaults.link_reals = {12};
  defaults.rounds = 15;
  const bench::Options options = bench::parse_options(argc, argv, defaults);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    bench::fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals) compare(U, precision, link_reals, options.rounds);
  }
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) { return trellis::lab::run(argc, argv); }
