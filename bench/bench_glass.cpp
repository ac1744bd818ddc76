/// This program measures updates of a Heisenberg spin glass: over-relaxation one sweep after the other and
/// four sweeps a pass, and the heat bath, with couplings as reals and as signs.
#include <cmath>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "reference/spin_glass.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/glass/observables.hpp"
#include "trellis/kernels/glass/spin_update.hpp"

namespace trellis::bench {
namespace {

constexpr uint64_t seed = 1, stream = 0;
constexpr int together = 4;

/// Returns the root mean square difference of components of spins from the reference code, over all ranks;
/// single spins whose field is small amplify rounding, so that the largest one says little.
double error_of(const SpinGlass& like, CouplingKind kind, bool is_heat_bath, int sweeps_of_pass) {
  const Coord extents = like.lattice().extents();
  SpinGlass glass(like.lattice_ptr(), like.spec());
  SpinGlass alone(make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>()), like.spec());
  for (SpinGlass* g : {&glass, &alone}) {
    g->draw_all_couplings(kind, seed, stream);
    g->randomise(seed, stream);
  }
  reference::SpinGlass expected;
  expected.extents = extents;
  std::vector<double> spins(3 * size_t(product(extents)));
  alone.spins_to_canonical(spins.data(), 0);
  for (int64_t site = 0; site < product(extents); ++site) {
    const double* S = &spins[3 * size_t(site)];
    expected.spins.push_back({S[0], S[1], S[2]});
    expected.couplings.push_back(draw_couplings(kind, random_key(seed, stream), site));
  }
  if (is_heat_bath) {
    glass.heat_bath(std::vector<double>(size_t(glass.slots()), 1.0), seed, stream, 0);
    reference::heat_bath(expected, 1.0, random_key(seed, stream), 0, 0);
  } else {
    glass.over_relax(sweeps_of_pass, sweeps_of_pass);
    for (int sweep = 0; sweep < sweeps_of_pass; ++sweep) reference::over_relax(expected);
  }
  const Geometry& geometry = glass.lattice().geometry();
  spins.resize(3 * size_t(geometry.local_volume()));
  glass.spins_to_canonical(spins.data(), 0);
  double square = 0;
  for (int64_t i = 0; i < geometry.local_volume(); ++i)
    for (size_t k = 0; k < 3; ++k) {
      const int64_t site = geometry.global_index(site_coord(i, geometry.local()));
      const double difference = spins[3 * size_t(i) + k] - expected.spins[size_t(site)][k];
      square += difference * difference;
    }
  return std::sqrt(sum_over_ranks(square) / double(3 * product(extents)));
}

struct Kernel {
  const char* name;
  bool is_heat_bath;
  int sweeps_of_pass;
};

void run(std::vector<Result>& results, const Coord& extents, Precision precision, int slots,
         CouplingKind kind, const Options& options) {
  SpinGlass glass(make_lattice(extents, choose_spin_grid(extents, world()->size())),
                  {.precision = precision, .slots = slots});
  glass.draw_all_couplings(kind, seed, stream);
  glass.randomise(seed, stream);
  const std::vector<double> betas(size_t(slots), 1.0);
  uint32_t number = 0;
  for (const Kernel& kernel : {Kernel{"over_relaxation", false, 1},
                               Kernel{"over_relaxation", false, together}, Kernel{"heat_bath", true, 1}}) {
    const int sweeps = kernel.sweeps_of_pass;
    if (glass.sweeps_of_pass(sweeps) != sweeps) continue;
    const double spins = double(product(extents)) * slots * sweeps, real = double(element_bytes(precision));
    Result r;
    r.kernel = kernel.name;
    r.precision = precision;
    r.link_reals = 0;
    r.lattice = extents;
    r.rhs = slots;
    r.flops = over_relaxation_flops * spins;
    const double of_couplings = glass.couplings().are_signs() ? 1.0 : 6 * real;
    // A pass reads and writes what it needs once for all of its sweeps, and both parities share the
    // couplings.
    r.must_move_bytes =
        sweeps > 1 ? (6 * real + (glass.couplings().are_signs() ? 1 : 3 * real) / slots) * spins / sweeps
                   : (9 * real + of_couplings / slots) * spins;
    r.working_set = double(glass.bytes()) * world()->size();
    r.more["couplings"] = name_of(kind);
    r.more["sweeps_per_pass"] = sweeps;
    measure(r, options, [&] {
      if (kernel.is_heat_bath)
        glass.heat_bath(betas, seed, stream, number++);
      else
        glass.over_relax(sweeps, sweeps);
    });
    r.more["nanoseconds_per_spin"] = r.seconds / spins * 1e9;
    if (options.check) r.error = error_of(glass, kind, kernel.is_heat_bath, sweeps);
    results.push_back(r);
  }
}

Options defaults() {
  Options defaults;
  defaults.least_extent = 1;
  defaults.lattices = {{64, 64, 64, 1}, {128, 128, 128, 1}};
  defaults.precisions = {Precision::single_precision};
  defaults.rhs = {1};
  return defaults;
}

int bench(const Options& options) {
  std::vector<Result> results;
  for (const Coord& extents : options.lattices)
    for (const Precision precision : options.precisions)
      for (const int slots : options.rhs)
        for (const CouplingKind kind : {CouplingKind::gaussian, CouplingKind::plus_minus})
          run(results, extents, precision, slots, kind, options);
  return report(results, options, {1e-9, 1e-4, 0, 0});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"Updates of a Heisenberg spin glass: x.y.z.samples; --rhs: sets of spins.", defaults(), bench}, argc,
      argv);
}
