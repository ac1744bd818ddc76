/// This program measures the Wilson hop: the alternating sequence D_oe, D_eo on well mixed links, every
/// storage and link compression.
#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/wilson.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis::bench {
namespace {

/// Returns the larger of |product - reference| / |reference| of D_oe even = odd and D_eo odd = result, of all
/// slots.
double error_against_reference(const GaugeField& U, const SpinorField& even, const SpinorField& odd,
                               const SpinorField& result) {
  const reference::Gauge links = to_reference(U);
  double error = 0;
  for (int rhs = 0; rhs < even.rhs(); ++rhs)
    for (const int parity : {1, 0}) {
      const auto in = to_reference<Spinor<double>>(parity ? even : odd, rhs);
      const auto out = to_reference<Spinor<double>>(parity ? odd : result, rhs);
      const auto expected =
          reference::restricted_to(reference::wilson_hop(links, {}, in), parity, links.extents);
      error = larger(error, relative_error(out, expected));
    }
  return error;
}

Result run(const GaugeField& U, Precision precision, int link_reals, int rhs, const Options& options) {
  const HoppingTerm hop(U, WilsonParams{}, {precision, link_reals, Backend::cpu, 0});
  SpinorField even = hop.make_field(Subset::even, rhs), odd = hop.make_field(Subset::odd, rhs);
  SpinorField result_even = hop.make_field(Subset::even, rhs);
  fill(even);
  const double sites = double(U.geometry().volume());
  Result r;
  r.kernel = "wilson_hop";
  r.precision = precision;
  r.link_reals = link_reals;
  r.lattice = U.geometry().lattice();
  r.rhs = rhs;
  r.flops = rhs * wilson_hop_flops * sites;  // the pair D_oe, D_eo takes them
  r.must_move_bytes = hop.bytes_per_site(rhs) * sites;
  r.cost = 2 * hop.hop_cost(rhs);
  r.working_set = double(hop.links().bytes() + 3 * even.bytes()) * world()->size();
  const HopTask task;
  measure(r, options, [&] { hop.apply_twice(result_even, odd, 0, even, task, task); });
  if (options.check) r.error = error_against_reference(U, even, odd, result_even);
  return r;
}

Options defaults() {
  Options defaults;
  defaults.lattices = {{4, 4, 4, 4}, {8, 8, 8, 8}, {16, 16, 16, 16}, {16, 16, 16, 32}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {18, 12};
  defaults.rhs = {1};
  return defaults;
}

int bench(const Options& options) {
  std::vector<Result> results;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals)
        if (is_legal(precision, link_reals))
          for (const int rhs : options.rhs) results.push_back(run(U, precision, link_reals, rhs, options));
  }
  return report(results, options);
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark({"The Wilson hop: the sequence D_oe, D_eo.", defaults(), bench}, argc, argv);
}
