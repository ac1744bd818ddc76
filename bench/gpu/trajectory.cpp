/// This section times whole trajectories on the GPU and on all cores of the host, part by part.
#include <cmath>

#include "bench/gpu/cases.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/heatbath.hpp"
#include "trellis/update/hmc.hpp"
#include "trellis/update/rational_monomial.hpp"
#include "trellis/update/staggered_fermion.hpp"
#include "trellis/update/two_flavour_monomial.hpp"
#include "trellis/update/wilson_fermion.hpp"

namespace trellis::gpu_check {

namespace {
using Monomials = std::vector<MonomialPtr>;

/// Returns a rational function of the usual shape; only times and bits count here, not what it approximates.
RationalFunction some_function() {
  RationalFunction r{0.4, {}, {}};
  for (int k = 0; k < 10; ++k) {
    r.shifts.push_back(2e-3 * std::pow(2.6, k));
    r.residues.push_back(0.12 * std::pow(r.shifts.back(), 0.8));
  }
  return r;
}

Monomials no_quarks() { return {}; }

Monomials staggered_quarks() {
  const RationalSolve fine{some_function(), 1e-9}, coarse{some_function(), 1e-6};
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.15), 2);
  const auto sea = std::make_shared<StaggeredSea>();
  Monomials quarks;
  for (const double mass : {0.05, 0.5})
    quarks.push_back(std::make_shared<RationalMonomial>(
        "quark", links, std::make_shared<StaggeredFermion>(sea, StaggeredPhases{}, mass),
        RationalParams{fine, coarse, fine, 1, uint32_t(1 + quarks.size())}));
  return quarks;
}

Monomials clover_quarks() {
  WilsonParams params;
  params.mass = 0.1;
  params.csw_spatial = params.csw_temporal = 1.0;
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.1), 1);
  TwoFlavourParams flavours;
  flavours.dynamics_tolerance = 1e-7;
  flavours.metropolis_tolerance = 1e-9;
  return {std::make_shared<CloverDeterminantMonomial>("determinant", links, params, 2),
          std::make_shared<TwoFlavourMonomial>("quarks", links, std::make_shared<WilsonFermion>(params),
                                               flavours)};
}

struct Run {
  TrajectoryRecord record;
  std::vector<double> links;  ///< they are the links after it
  cuda::Activity activity;
};

/// Times the second of two trajectories: the first one makes tables and fields.
Run run_trajectories(const GaugeField& start, Backend backend, Monomials (*quarks)()) {
  GaugeField U = start.on(backend);
  const Monomials fermions = quarks();
  std::vector<IntegratorLevel> levels;
  if (!fermions.empty()) levels.push_back({Scheme::omelyan2, 2, 0.1931833275037836, fermions});
  levels.push_back({Scheme::omelyan2,
                    4,
                    0.1931833275037836,
                    {std::make_shared<GaugeMonomial>("glue", GaugeAction::symanzik(6.0))}});
  Hmc hmc({1, 0, 0.25}, levels);
  hmc.trajectory(U, 1, false);
  const cuda::Activity before = cuda::activity();
  Run run{hmc.trajectory(U, 2, false), {}, {}};
  run.activity = cuda::activity_since(before);
  run.links = numbers(U);
  return run;
}
}  // namespace

void measure_trajectory(Section& section, const std::vector<int>& extents) {
  const struct {
    const char* name;
    Monomials (*quarks)();
  } cases[] = {{"gauge alone", no_quarks},
               {"staggered 2+1, stout", staggered_quarks},
               {"clover 2 flavours", clover_quarks}};
  PartTimer::waits_for_gpu = true;
  for (const int L : extents)
    for (const auto& [name, quarks] : cases)
      section.run(name, [&, name = name, quarks = quarks] {
        GaugeField U(make_lattice({L, L, L, L}));
        for (uint32_t update = 0; update < 2; ++update) heatbath_update(U, {6.0, 1, 1}, 1, 0, update);
        const Run gpu = run_trajectories(U, Backend::cuda, quarks);
        Run cpu = run_trajectories(U, Backend::cpu, quarks);
        Run mine = gpu;
        for (Run* run : {&mine, &cpu})
          run->links.insert(run->links.end(), {run->record.kinetic_before, run->record.dH});
        // A difference in rounding grows along a trajectory.
        const std::string bits = compared(section, name, mine.links, cpu.links, 1e-6);
        Row row;
        row.text("trajectory", name)
            .text("lattice", to_string(U.geometry().lattice()))
            .number("GPU, s", gpu.record.seconds)
            .number("CPU, s", cpu.record.seconds)
            .number("CPU / GPU", cpu.record.seconds / gpu.record.seconds, 3);
        for (const Part part : {Part::solver, Part::fermion_force, Part::gauge_force, Part::smearing})
          row.number(message(name_of(part), ", GPU"), gpu.record.costs[part].seconds, 3)
              .number(message(name_of(part), ", CPU"), cpu.record.costs[part].seconds, 3);
        row.count("kernels", gpu.activity.kernels)
            .count("waits", gpu.activity.waits)
            .number("kB copied", double(gpu.activity.copied_bytes) * 1e-3, 4)
            .number("dH", gpu.record.dH, 6)
            .text("to CPU", bits);
        for (int part = 0; part < parts; ++part) {
          const char* what = name_of(Part(part));
          row.hidden_number(message("GPU seconds of ", what), gpu.record.costs[Part(part)].seconds);
          row.hidden_number(message("CPU seconds of ", what), cpu.record.costs[Part(part)].seconds);
        }
        section.print(row);
      });
}

}  // namespace trellis::gpu_check
