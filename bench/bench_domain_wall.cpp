/// Moebius domain wall: the pair of hops on all slices, and the whole red-black operator that is built on
/// it, with the ratio of the two, which are timed in turns. --rhs is the number of slices Ls.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/domain_wall.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/operator/domain_wall.hpp"

namespace trellis::bench {
namespace {

DomainWallParams params(int Ls) {
  DomainWallParams p;
  p.mass = 0.05;
  p.Ls = Ls;
  p.b5 = {1.5};
  p.c5 = {0.5};
  return p;
}

/// x = [M^-1 y, 1/2 M^-1 H B M^-1 y] makes (D5 x)_e = S y: against reference/, on one process.
double error_against_reference(const GaugeField& U, const DomainWallSchur& S, const DomainWallMatrix& matrix,
                               const SpinorField& y, const SpinorField& Sy) {
  SpinorField x = matrix.make_field(Subset::full, 1);
  const SpinorField zero = SpinorField::like(x);
  S.reconstruct(x, y, zero);
  const Coord& extents = U.geometry().lattice();
  const reference::Gauge links = to_reference(U);
  reference::DomainWallParameters p;
  p.mass = 0.05;
  p.Ls = matrix.params().Ls;
  p.b5 = 1.5;
  p.c5 = 0.5;
  const reference::DomainWallOperator D(links, p);
  reference::FiveVector psi = D.zero(), found = psi;
  for (int s = 0; s < p.Ls; ++s) {
    x.to_canonical(reinterpret_cast<double*>(psi[size_t(s)].data()), s);
    Sy.to_canonical(reinterpret_cast<double*>(found[size_t(s)].data()), s);
  }
  reference::FiveVector expected = D.apply(psi);
  for (auto& slice : expected) slice = reference::restricted_to(slice, 0, extents);
  return reference::relative_error(found, expected);
}

Result common(const char* kernel, const DomainWallMatrix& matrix) {
  Result r;
  r.kernel = kernel;
  r.precision = matrix.choice().precision;
  r.link_reals = matrix.choice().link_reals;
  r.lattice = matrix.lattice().geometry().lattice();
  r.rhs = matrix.params().Ls;
  return r;
}

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Medians, over `turns`, of the times of S, S^dagger and K alone over that of the hops in the same turn.
struct Ratios {
  std::string what;
  double schur, dagger, fifth;
};
Ratios ratios_to_hops(const std::string& what, int turns, const std::function<void()>& hops,
                      const std::function<void()>& schur, const std::function<void()>& dagger,
                      const std::function<void()>& fifth) {
  std::vector<double> ratio[3];
  hops();
  for (int i = 0; i < turns; ++i) {
    const double before = seconds_of(hops);
    const double S = seconds_of(schur), K = seconds_of(fifth), T = seconds_of(dagger);
    const double mean = 0.5 * (before + seconds_of(hops));
    ratio[0].push_back(S / mean);
    ratio[1].push_back(T / mean);
    ratio[2].push_back(K / mean);
  }
  for (auto& list : ratio) std::sort(list.begin(), list.end());
  const size_t middle = size_t(turns) / 2;
  return {what, ratio[0][middle], ratio[1][middle], ratio[2][middle]};
}

void run(std::vector<Result>& results, std::vector<Ratios>& ratios, const GaugeField& U, Precision precision,
         int link_reals, int Ls, const Options& options) {
  const auto matrix =
      std::make_shared<DomainWallMatrix>(U, params(Ls), KernelChoice{precision, link_reals, Backend::cpu, 0});
  const DomainWallSchur S(matrix, SchurForm::symmetric);
  SpinorField even = S.make_field(), odd = matrix->make_field(Subset::odd, 1), out = S.make_field();
  fill(even);
  const double five_volume = double(U.geometry().volume()) * Ls;
  const double links = double(matrix->hop().links().bytes()), field = double(even.bytes());
  Result hops = common("domain_wall_hops", *matrix);
  hops.flops = wilson_hop_flops * five_volume;  // of the pair D_oe, D_eo
  hops.must_move_bytes = matrix->hop().bytes_per_site(Ls) * double(U.geometry().volume());
  hops.working_set = (links + 3 * field) * world()->size();
  const HopTask task;
  const auto apply_hops = [&] { matrix->hop().apply_twice(out, odd, 0, even, task, task); };
  measure(hops, options, apply_hops);
  results.push_back(hops);
  const double once = std::max(hops.seconds, 1e-6);
  const int turns = std::clamp(int(options.seconds * options.rounds / once), 5, 101);
  ratios.push_back(ratios_to_hops(
      message(name_of(precision), ", ", to_string(U.geometry().lattice()), ", Ls = ", Ls), turns, apply_hops,
      [&] { S.apply(out, even); }, [&] { S.apply_dagger(out, even); },
      [&] { matrix->apply_fifth(out, even, 0, FifthMatrix::K, false); }));
  for (const bool is_dagger : {false, true}) {
    Result whole = common(is_dagger ? "domain_wall_schur_dagger" : "domain_wall_schur", *matrix);
    whole.flops = S.flops();
    whole.must_move_bytes = S.bytes(1);
    whole.working_set = (links + 4 * field) * world()->size();
    measure(whole, options, [&] { is_dagger ? S.apply_dagger(out, even) : S.apply(out, even); });
    if (!is_dagger && options.check && world()->size() == 1)
      whole.error = error_against_reference(U, S, *matrix, even, out);
    results.push_back(whole);
  }
}

int bench(int argc, char** argv) {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {12};
  defaults.rhs = {12};
  const Options options = parse_options(argc, argv, defaults);
  std::vector<Result> results;
  std::vector<Ratios> ratios;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals)
        for (const int Ls : options.rhs)
          if (has_link_storage(precision, link_reals))
            run(results, ratios, U, precision, link_reals, Ls, options);
  }
  report(results, options);
  if (world()->rank() == 0)
    for (const Ratios& r : ratios)
      std::fprintf(stderr, "%s: time over that of the hops: S %.2f, S^dagger %.2f, K alone %.2f\n",
                   r.what.c_str(), r.schur, r.dagger, r.fifth);
  return status_of_checks(results, {1e-13, 1e-5, 2e-3});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) { return trellis::bench::run_benchmark(trellis::bench::bench, argc, argv); }
