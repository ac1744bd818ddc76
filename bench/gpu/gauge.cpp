/// This section times what gauge fields go through, and what is set up once for each of them.
#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/stout_chain.hpp"
#include "trellis/operator/staggered_derivative.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/operator/wilson_derivative.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::gpu_check {

namespace {
void row(Section& section, const std::string& name, const GaugeField& U, const Times& times, double bytes = 0,
         const std::string& bits = "", Precision precision = Precision::double_precision, int reals = 18) {
  section.print(row_of(section, name, U.geometry().lattice(), precision, reals, 1, times, 0, bytes, bits));
}

/// Times `call(U)` on the GPU, and compares its numbers on both.
void timed(Section& section, const std::string& name, const GaugeField& host,
           const std::function<std::vector<double>(const GaugeField&)>& result,
           const std::function<void(GaugeField&)>& call, double bytes = 0, double allowed = 1e-12) {
  section.run(name, [&] {
    GaugeField U = host.on(Backend::cuda);
    const std::string bits =
        section.is_compared(host.geometry()) ? compared(section, name, result(U), result(host), allowed) : "";
    row(section, name, host, time_of([&] { call(U); }), bytes, bits);
  });
}

/// Times the set-up of hop links and the derivatives of quark actions, which trajectories take beside solves.
void measure_quark_forces(Section& section, const GaugeField& host) {
  const double sites = double(host.geometry().volume());
  section.run("links of hops", [&] {
    const GaugeField U = host.on(Backend::cuda);
    row(section, "links of hops, checked", host,
        time_of([&] { (void)HopLinks(U, Precision::double_precision, 12, Backend::cuda); }),
        (2 * 72 + 48) * 8 * sites, "", Precision::double_precision, 12);
  });
  section.run("staggered derivative", [&] {
    const GaugeField U = host.on(Backend::cuda);
    const auto links =
        std::make_shared<StaggeredLinks>(U, KernelChoice{Precision::double_precision, 12, Backend::cuda, 0});
    const auto matrix = std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.1);
    const StaggeredLinkDerivative derivative(matrix);
    const std::vector<SpinorField> fields(10, matrix->hopping().make_field(Subset::even, 1));
    std::vector<const SpinorField*> X;
    for (const SpinorField& field : fields) X.push_back(&field);
    LinkDerivative G(U);
    const Times times = time_of([&] { derivative.add(G, nullptr, X, std::vector<double>(X.size(), 0.5)); });
    section.print(row_of(section, "staggered derivative, 10 fields", host.geometry().lattice(),
                         Precision::double_precision, 12, 10, times, derivative.flops(10),
                         derivative.bytes(10), ""));
  });
  section.run("clover derivative", [&] {
    WilsonParams params;
    params.csw_spatial = params.csw_temporal = 1.0;
    const GaugeField U = host.on(Backend::cuda);
    WilsonLinkDerivative derivative(params);
    FieldSpec spec;
    spec.backend = Backend::cuda;
    const SpinorField X(U.lattice_ptr(), spec);
    LinkDerivative G(U);
    const Times times = time_of([&] {
      derivative.begin(U);
      derivative.add(G, X, X, 0.5);
      derivative.finish(G);
    });
    section.print(row_of(section, "clover derivative", host.geometry().lattice(), Precision::double_precision,
                         18, 1, times, sites * derivative.flops(1), sites * derivative.bytes(1), ""));
  });
}

}  // namespace

void measure_gauge(Section& section, const std::vector<int>& extents) {
  for (const int L : extents) {
    GaugeField host(make_lattice({L, L, L, L}));
    bench::fill_random_su3(host, 1);
    const double sites = double(host.geometry().volume()), link_bytes = 72 * 8 * sites;
    timed(
        section, "loops", host,
        [](const GaugeField& U) {
          const GaugeLoops l = measure_loops(U);
          return std::vector<double>{l.plaquette, l.rectangle, l.polyakov_loop.real(),
                                     l.polyakov_loop.imag()};
        },
        [](GaugeField& U) { (void)measure_loops(U); });
    const GaugeAction S = GaugeAction::symanzik(6.0);
    const auto force = [&](const GaugeField& U) {
      AlgebraField P(U);
      add_force(P, S, U, 0.01);
      std::vector<double> numbers(size_t(U.geometry().local_volume()) * 32);
      P.to_canonical(numbers.data());
      return numbers;
    };
    std::unique_ptr<AlgebraField> P;
    timed(
        section, "gauge force, Symanzik", host, force,
        [&](GaugeField& U) {
          if (!P) P = std::make_unique<AlgebraField>(U);
          add_force(*P, S, U, 0.01);
        },
        link_bytes + 2 * 32 * 8 * sites);
    P = nullptr;
    timed(
        section, "stout smearing", host, [](const GaugeField& U) { return numbers(stout_smear(U, 0.1, 1)); },
        [](GaugeField& U) { (void)stout_smear(U, 0.1, 1); }, 2 * link_bytes);
    timed(
        section, "gradient flow step", host,
        [](const GaugeField& U) {
          GradientFlow flow(U);
          flow.step(0.01);
          return numbers(flow.field());
        },
        [flow = std::shared_ptr<GradientFlow>()](GaugeField& U) mutable {
          if (!flow) flow = std::make_shared<GradientFlow>(U);
          flow->step(0.01);
        });
    timed(
        section, "heat bath sweep", host,
        [](const GaugeField& U) {
          GaugeField V = U;
          heatbath_update(V, {6.0, 1, 0}, 1, 0, 0);
          return numbers(V);
        },
        [](GaugeField& U) {
          heatbath_update(U, {6.0, 1, 0}, 1, 0, 0);
        },
        0, 1e-9);
    measure_gauge_launches(section, host);
    section.run("links to the GPU", [&] {
      row(section, "links to the GPU", host, time_of([&] { (void)host.on(Backend::cuda); }), 2 * link_bytes);
    });
    section.run("clover set-up", [&] {
      WilsonParams params;
      params.mass = 0.1;
      params.csw_spatial = params.csw_temporal = 1.0;
      const GaugeField U = host.on(Backend::cuda);
      const KernelChoice choice{Precision::single_precision, 12, Backend::cuda, 0};
      row(section, "clover operator set-up", host, time_of([&] { (void)WilsonMatrix(U, params, choice); }), 0,
          "", Precision::single_precision, 12);
    });
    measure_quark_forces(section, host);
  }
}

}  // namespace trellis::gpu_check
