/// This program measures the Moebius domain wall: the pair of hops on all slices, and the whole red-black
/// operator that is built on it, with the ratio of the two, which are timed in turns.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/domain_wall.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
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

using reference::FiveVector;

FiveVector five_vector(const SpinorField& field) {
  FiveVector psi;
  for (int s = 0; s < field.slots(); ++s) psi.push_back(to_reference<Spinor<double>>(field, s));
  return psi;
}

FiveVector restricted_to(FiveVector psi, int parity, const Coord& extents) {
  for (auto& slice : psi) slice = reference::restricted_to(slice, parity, extents);
  return psi;
}

reference::DomainWallOperator reference_operator(const GaugeField& U, int Ls) {
  reference::DomainWallParameters p;
  p.mass = 0.05;
  p.Ls = Ls;
  p.b5 = 1.5;
  p.c5 = 0.5;
  return {to_reference(U), p};
}

/// Returns the larger of |product - reference| / |reference| of H_oe even = odd and H_eo odd = result, of all
/// slices.
double error_of_hops(const GaugeField& U, const SpinorField& even, const SpinorField& odd,
                     const SpinorField& result) {
  const reference::DomainWallOperator D = reference_operator(U, even.slots());
  double error = 0;
  for (const int parity : {1, 0}) {
    FiveVector expected;
    for (const auto& slice : five_vector(parity ? even : odd)) expected.push_back(D.kernel().hop(slice));
    expected = restricted_to(expected, parity, U.geometry().lattice());
    error = larger(error, reference::relative_error(five_vector(parity ? odd : result), expected));
  }
  return error;
}

/// Tests S by x = [M^-1 y, 1/2 M^-1 H B M^-1 y], which makes (D5 x)_e = S y.
double error_of_schur(const GaugeField& U, const DomainWallSchur& S, const DomainWallMatrix& matrix,
                      const SpinorField& y, const SpinorField& Sy) {
  SpinorField x = matrix.make_field(Subset::full, 1);
  const SpinorField zero = SpinorField::like(x);
  S.reconstruct(x, y, zero);
  const FiveVector Dx = reference_operator(U, y.slots()).apply(five_vector(x));
  return reference::relative_error(five_vector(Sy), restricted_to(Dx, 0, U.geometry().lattice()));
}

/// Tests S^dagger by w = [y, 1/2 K^dagger H^dagger y], which makes (D5^dagger w)_o = 0 and (D5^dagger w)_e =
/// M^dagger S^dagger y; M^dagger is what D5^dagger does to even sites alone.
double error_of_schur_dagger(const GaugeField& U, const DomainWallMatrix& matrix, const SpinorField& y,
                             const SpinorField& Sy) {
  const Coord& extents = U.geometry().lattice();
  const reference::DomainWallOperator D = reference_operator(U, y.slots());
  SpinorField t = matrix.make_field(Subset::odd, 1);
  matrix.apply_hop_then_fifth(t, 1, y, FifthMatrix::K, true);
  FiveVector w = five_vector(y);
  const FiveVector alone = restricted_to(D.apply_dagger(w), 1, extents), odd = five_vector(t);
  for (size_t s = 0; s < w.size(); ++s) reference::add_scaled(w[s], 0.5, odd[s]);
  const FiveVector Dw = D.apply_dagger(w), MSy = D.apply_dagger(five_vector(Sy));
  const double left = std::sqrt(reference::norm2(restricted_to(Dw, 1, extents)) / reference::norm2(alone));
  return larger(left,
                reference::relative_error(restricted_to(MSy, 0, extents), restricted_to(Dw, 0, extents)));
}

Result common(const char* kernel, const DomainWallMatrix& matrix) {
  Result r;
  r.kernel = kernel;
  r.precision = matrix.choice().precision;
  r.link_reals = matrix.choice().link_reals;
  r.lattice = matrix.lattice().geometry().lattice();
  r.rhs = 1;
  r.more = {{"Ls", matrix.params().Ls}};
  return r;
}

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// They are medians, over `turns`, of the times of S, S^dagger and K alone over that of the hops in the same
/// turn.
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
  hops.flops = wilson_hop_flops * five_volume;  // the pair D_oe, D_eo takes them
  hops.must_move_bytes = matrix->hop().bytes_per_site(Ls) * double(U.geometry().volume());
  hops.cost = 2 * matrix->hop().hop_cost(Ls);
  hops.working_set = (links + 3 * field) * world()->size();
  const HopTask task;
  const auto apply_hops = [&] { matrix->hop().apply_twice(out, odd, 0, even, task, task); };
  measure(hops, options, apply_hops);
  if (options.check) hops.error = error_of_hops(U, even, odd, out);
  results.push_back(hops);
  for (const bool is_dagger : {false, true}) {
    Result whole = common(is_dagger ? "domain_wall_schur_dagger" : "domain_wall_schur", *matrix);
    const Cost cost = is_dagger ? S.dagger_cost(1) : S.cost(1);
    whole.flops = cost.flops;
    whole.must_move_bytes = cost.bytes;
    whole.cost = cost;
    whole.working_set = (links + 4 * field) * world()->size();
    measure(whole, options, [&] { is_dagger ? S.apply_dagger(out, even) : S.apply(out, even); });
    if (options.check)
      whole.error =
          is_dagger ? error_of_schur_dagger(U, *matrix, even, out) : error_of_schur(U, S, *matrix, even, out);
    results.push_back(whole);
  }
  const double once = std::max(hops.seconds, 1e-6);
  const int turns = std::clamp(int(options.seconds * options.rounds / once), 5, 101);
  ratios.push_back(ratios_to_hops(
      message(name_of(precision), ", ", to_string(U.geometry().lattice()), ", Ls = ", Ls), turns, apply_hops,
      [&] { S.apply(out, even); }, [&] { S.apply_dagger(out, even); },
      [&] { matrix->apply_fifth(out, even, 0, FifthMatrix::K, false); }));
}

Options defaults() {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {12};
  defaults.Ls = {12};
  return defaults;
}

int bench(const Options& options) {
  std::vector<Result> results;
  std::vector<Ratios> ratios;
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    fill_random_su3(U, 1);
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals)
        if (is_legal(precision, link_reals))
          for (const int Ls : options.Ls) run(results, ratios, U, precision, link_reals, Ls, options);
  }
  const int status = report(results, options, {1e-13, 1e-5, 2e-3});
  if (world()->rank() == 0)
    for (const Ratios& r : ratios)
      std::fprintf(stderr, "%s: time over that of the hops: S %.2f, S^dagger %.2f, K alone %.2f\n",
                   r.what.c_str(), r.schur, r.dagger, r.fifth);
  return status;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark({"Moebius domain walls: the pair of hops on all slices, and the red-black operator.",
                        defaults(), bench},
                       argc, argv);
}
