/// The Wilson hop: the alternating sequence D_oe, D_eo on well mixed links, every storage and link
/// compression.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/wilson.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis::bench {
namespace {

/// |product - reference| / |reference| on the odd sites, on one process.
double error_against_reference(const GaugeField& U, const SpinorField& even, const SpinorField& odd) {
  const Coord& extents = U.geometry().lattice();
  const reference::Gauge links = to_reference(U);
  reference::SpinorVector in = reference::zero_spinors(product(extents)), out = in;
  even.to_canonical(reinterpret_cast<double*>(in.data()), even.rhs() - 1);
  odd.to_canonical(reinterpret_cast<double*>(out.data()), odd.rhs() - 1);
  const auto expected = reference::restricted_to(reference::wilson_hop(links, {}, in), 1, extents);
  return std::sqrt(reference::norm2(reference::difference(out, expected)) / reference::norm2(expected));
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
  r.flops = rhs * wilson_hop_flops * sites;  // of the pair D_oe, D_eo
  r.must_move_bytes = hop.bytes_per_site(rhs) * sites;
  r.working_set = double(hop.links().bytes() + 3 * even.bytes()) * world()->size();
  const HopTask task;
  measure(r, options, [&] { hop.apply_twice(result_even, odd, 0, even, task, task); });
  if (options.check && world()->size() == 1) r.error = error_against_reference(U, even, odd);
  return r;
}

int bench(int argc, char** argv) {
  Options defaults;
  defaults.lattices = {{4, 4, 4, 4}, {8, 8, 8, 8}, {16, 16, 16, 16}, {16, 16, 16, 32}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {18, 12};
  defaults.rhs = {1};
  const Options options = parse_options(argc, argv, defaults);
  std::vector<Result> results;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals)
        for (const int rhs : options.rhs)
          if (has_link_storage(precision, link_reals))
            results.push_back(run(U, precision, link_reals, rhs, options));
  }
  report(results, options);
  return status_of_checks(results);
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::bench::bench, argc, argv); }
