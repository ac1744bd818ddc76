/// This program measures the staggered hop, naive and improved: the alternating sequence D_oe, D_eo on well
/// mixed links with the phases of a chemical potential and a magnetic flux, every storage and link
/// compression.
#include <cmath>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/staggered.hpp"
#include "trellis/comm/communicator.hpp"
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

/// This is the coefficient of the improved hop's long links, which here are the thin ones.
constexpr double long_coefficient = -1.0 / 24;

/// Computes out += coefficient / 2 sum_mu [ w_mu(x) U_mu(x) in(x+3mu) - conj(w_mu(x-3mu)) U_mu(x-3mu)^dagger
/// in(x-3mu) ] with w_mu(x) = u_mu(x) u_mu(x+mu) u_mu(x+2mu), u = exp(i theta).
void add_long_hop(reference::ColorVectors& out, const reference::Gauge& U, const std::vector<double>& theta,
                  double coefficient, const reference::ColorVectors& in) {
  const auto three = [&](int64_t site, int step) {
    for (int i = 0; i < 3; ++i) site = reference::neighbour(site, step, U.extents);
    return site;
  };
  const auto phase = [&](int64_t site, int mu, double sign) {
    double sum = 0;
    for (int i = 0; i < 3; ++i, site = reference::neighbour(site, reference::forward(mu), U.extents))
      sum += theta[size_t(4 * site + mu)];
    return Complex<double>{coefficient / 2 * std::cos(sum), sign * coefficient / 2 * std::sin(sum)};
  };
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu) {
      const int64_t ahead = three(x, reference::forward(mu)), behind = three(x, reference::backward(mu));
      const Complex<double> w = phase(x, mu, 1), v = phase(behind, mu, -1);
      for (int i = 0; i < Nc; ++i)
        for (int j = 0; j < Nc; ++j) {
          const Complex<double> back = conj(U.link(behind, mu).e[j][i]);
          out[size_t(x)].c[i] = out[size_t(x)].c[i] + w * U.link(x, mu).e[i][j] * in[size_t(ahead)].c[j] -
                                v * back * in[size_t(behind)].c[j];
        }
    }
}

/// Returns the larger of |product - reference| / |reference| of D_oe even = odd and D_eo odd = result, of all
/// slots.
double error_against_reference(const GaugeField& U, bool is_improved, const SpinorField& even,
                               const SpinorField& odd, const SpinorField& result) {
  const reference::Gauge links = to_reference(U);
  reference::StaggeredPhases phases;
  phases.mu_over_ipiT = bench_phases().mu_over_ipiT;
  phases.flux[{0, 1}] = bench_phases().flux[0];
  const std::vector<double> theta = reference::staggered_theta(links.extents, phases);
  double error = 0;
  for (int rhs = 0; rhs < even.rhs(); ++rhs)
    for (const int parity : {1, 0}) {
      const auto in = to_reference<ColorVector<double>>(parity ? even : odd, rhs);
      const auto out = to_reference<ColorVector<double>>(parity ? odd : result, rhs);
      reference::ColorVectors expected = reference::staggered_apply(links, theta, 0.0, in);
      if (is_improved) add_long_hop(expected, links, theta, long_coefficient, in);
      for (int64_t site = 0; site < links.volume(); ++site)
        if (site_parity(site_coord(site, links.extents)) != parity) expected[size_t(site)] = {};
      error = larger(error, relative_error(out, expected));
    }
  return error;
}

Result run(const GaugeField& U, Precision precision, int link_reals, bool is_improved, int rhs,
           const Options& options) {
  const KernelChoice choice{precision, is_improved ? 18 : link_reals, Backend::cpu, 0};
  const auto links = is_improved ? std::make_shared<StaggeredLinks>(U, U, long_coefficient, true, choice)
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
  r.flops = rhs * hop.flops_per_site() * sites;  // the pair D_oe, D_eo takes them
  r.must_move_bytes = hop.bytes_per_site(rhs) * sites;
  r.cost = hop.hop_cost(0, rhs) + hop.hop_cost(1, rhs);
  const double link_bytes =
      double(links->near(precision)->bytes()) + (is_improved ? double(links->far(precision)->bytes()) : 0.0);
  r.working_set = (link_bytes + 3.0 * double(even.bytes())) * world()->size();
  measure(r, options, [&] { hop.apply_twice(result_even, odd, 0, even, {0.5}, {0.5}); });
  if (options.check) r.error = error_against_reference(U, is_improved, even, odd, result_even);
  return r;
}

Options defaults() {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}, {16, 16, 16, 32}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {18, 12};
  defaults.rhs = {1, 4};
  return defaults;
}

int bench(const Options& options) {
  std::vector<Result> results;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions) {
      for (const int link_reals : options.link_reals)
        if (link_reals == 8)
          say_skipped("staggered_hop, " + combination(precision, 8), "its links have 18 or 12 reals");
        else
          for (const int rhs : options.rhs)
            results.push_back(run(U, precision, link_reals, false, rhs, options));
      for (const int rhs : options.rhs) results.push_back(run(U, precision, 32, true, rhs, options));
    }
  }
  return report(results, options);
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"The staggered hop, naive and improved (link reals: 18 near and 14 far ones): D_oe, D_eo.", defaults(),
       bench},
      argc, argv);
}
