/// The staggered hop, naive and improved: the alternating sequence D_oe, D_eo on well mixed links with the
/// phases of a chemical potential and a magnetic flux, every storage and link compression.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/staggered.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/operator/staggered.hpp"

namespace trellis::bench {
namespace {

/// All six components would make a phase of their own for most links; what is usual is one magnetic one.
StaggeredPhases bench_phases() {
  StaggeredPhases phases;
  phases.mu_over_ipiT = 0.3;
  phases.flux[0] = 2;
  return phases;
}

/// |product - reference| / |reference| on the odd sites, on one process; naive links.
double error_against_reference(const GaugeField& U, const SpinorField& even, const SpinorField& odd) {
  const Coord& extents = U.geometry().lattice();
  const reference::Gauge links = to_reference(U);
  reference::ColorVectors in(size_t(product(extents))), out = in;
  std::memset(in.data(), 0, in.size() * sizeof(in[0]));
  even.to_canonical(reinterpret_cast<double*>(in.data()), even.rhs() - 1);
  odd.to_canonical(reinterpret_cast<double*>(out.data()), odd.rhs() - 1);
  reference::StaggeredPhases phases;
  phases.mu_over_ipiT = bench_phases().mu_over_ipiT;
  phases.flux[{0, 1}] = bench_phases().flux[0];
  const auto expected =
      reference::staggered_apply(links, reference::staggered_theta(extents, phases), 0.0, in);
  double difference = 0, norm = 0;
  for (int64_t site = 0; site < product(extents); ++site) {
    if (site_parity(site_coord(site, extents)) == 0) continue;
    for (int c = 0; c < Nc; ++c) {
      const auto &a = out[size_t(site)].c[c], &b = expected[size_t(site)].c[c];
      difference += std::pow(a.re - b.re, 2) + std::pow(a.im - b.im, 2);
      norm += b.re * b.re + b.im * b.im;
    }
  }
  return std::sqrt(difference / norm);
}

Result run(const GaugeField& U, Precision precision, int link_reals, bool is_improved, int rhs,
           const Options& options) {
  const KernelChoice choice{precision, is_improved ? 18 : link_reals, Backend::cpu, 0};
  const auto links = is_improved ? std::make_shared<StaggeredLinks>(U, U, -1.0 / 24, true, choice)
                                 : std::make_shared<StaggeredLinks>(U, choice);
  const StaggeredHopping hop(links, bench_phases(), precision);
  SpinorField even = hop.make_field(Subset::even, rhs), odd = hop.make_field(Subset::odd, rhs);
  SpinorField result_even = hop.make_field(Subset::even, rhs);
  fill(even);
  const double sites = double(U.geometry().volume());
  Result r;
  r.kernel = is_improved ? "improved_staggered_hop" : "staggered_hop";
  r.precision = precision;
  r.link_reals = link_reals;
  r.lattice = U.geometry().lattice();
  r.rhs = rhs;
  r.flops = rhs * hop.flops_per_site() * sites;  // of the pair D_oe, D_eo
  r.must_move_bytes = hop.bytes_per_site(rhs) * sites;
  const double link_bytes =
      double(links->near(precision)->bytes()) + (is_improved ? double(links->far(precision)->bytes()) : 0.0);
  r.working_set = (link_bytes + 3.0 * double(even.bytes())) * world()->size();
  measure(r, options, [&] { hop.apply_twice(result_even, odd, 0, even, {0.5}, {0.5}); });
  if (options.check && world()->size() == 1 && !is_improved) r.error = error_against_reference(U, even, odd);
  return r;
}

int bench(int argc, char** argv) {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}, {16, 16, 16, 32}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {18, 12};
  defaults.rhs = {1, 4};
  const Options options = parse_options(argc, argv, defaults);
  std::vector<Result> results;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int rhs : options.rhs) {
        for (const int link_reals : options.link_reals)
          results.push_back(run(U, precision, link_reals, false, rhs, options));
        results.push_back(run(U, precision, 32, true, rhs, options));
      }
  }
  report(results, options);
  return status_of_checks(results);
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::bench::bench, argc, argv); }
