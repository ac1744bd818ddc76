/// This section times updates of Heisenberg spin glasses in float, with couplings as reals and as signs.
#include "trellis/kernels/glass/spin_update.hpp"

#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/glass/observables.hpp"

namespace trellis::gpu_check {

namespace {
constexpr uint64_t seed = 1, stream = 0;

std::unique_ptr<SpinGlass> make_glass(const Coord& extents, Backend backend, CouplingKind kind) {
  auto glass = std::make_unique<SpinGlass>(make_lattice(extents), SpinGlassSpec{.backend = backend});
  glass->draw_all_couplings(kind, seed, stream);
  return glass;
}

/// Returns the spins after some updates from the same start, and their energy.
std::vector<double> updated(SpinGlass& glass) {
  for (uint32_t sweep = 0; sweep < 2; ++sweep) {
    glass.heat_bath({1.0}, seed, stream, sweep);
    glass.over_relax(2);
  }
  std::vector<double> all(size_t(glass.lattice().geometry().local_volume()) * 3);
  glass.spins_to_canonical(all.data(), 0);
  const std::vector<double> energy = energies(glass);
  all.insert(all.end(), energy.begin(), energy.end());
  return all;
}

void glass_case(Section& section, int L, CouplingKind kind) {
  const Coord extents{L, L, L, 1};
  section.run(message("spin glass, ", name_of(kind), ", ", L, "^3"), [&] {
    const auto glass = make_glass(extents, Backend::cuda, kind);
    std::string bits;
    if (section.is_compared(glass->lattice().geometry()))
      bits = compared(section, message("spin glass, ", name_of(kind)), updated(*glass),
                      updated(*make_glass(extents, Backend::cpu, kind)), 1e-3);
    else
      glass->heat_bath({1.0}, seed, stream, 0);  // it starts from ordered spins
    const double spins = double(product(extents));
    const double bytes =
        glass->couplings().are_signs() ? over_relaxation_bytes_of_signs : over_relaxation_bytes;
    uint32_t number = 1;
    const auto tell = [&](const char* name, double flops, double bytes_of_update, const Times& times) {
      section.print(row_of(section, message(name, ", ", name_of(kind)), extents, Precision::single_precision,
                           0, 1, times, flops * spins, bytes_of_update * spins, bits)
                        .number("ns a spin", times.median / spins * 1e9, 3));
    };
    tell("over-relaxation", over_relaxation_flops, bytes, time_of([&] { glass->over_relax(1); }));
    tell("heat bath", 0, bytes, time_of([&] { glass->heat_bath({1.0}, seed, stream, number++); }));
    // Sums over bonds read all spins once, from the even sites.
    tell("energy", 0, bytes / 2, time_of([&] { (void)energies(*glass); }));
  });
}
}  // namespace

void measure_glass(Section& section, const std::vector<int>& extents) {
  for (const int L : extents)
    for (const CouplingKind kind : {CouplingKind::plus_minus, CouplingKind::gaussian})
      glass_case(section, L, kind);
}

}  // namespace trellis::gpu_check
