/// Python gets nucleon three-point functions with a fixed sink here.
#include "trellis/measure/three_point.hpp"
#include "tables.hpp"
#include "trellis/measure/conserved_three_point.hpp"

namespace trellis::bindings {

namespace {
Source sequential_source(const Propagator& up, const Propagator& down, int separation,
                         const std::array<double, 2>& up_and_down, bool polarised, int parity,
                         const Momentum& momentum, const GaugeField* links, double width, int steps) {
  const SpinMatrix projector = polarised ? polarised_projector(parity) : parity_projector(parity);
  const SinkSmearing smearing{links, {width, steps}};
  return nucleon_sequential_source(up, down, {separation, up_and_down, projector, momentum},
                                   links ? &smearing : nullptr);
}

/// Returns [current][momentum transfer][tau].
Array<std::complex<double>> nucleon_three_point_array(const Propagator& sequential, const Propagator& S,
                                                      const std::vector<std::string>& names,
                                                      const Momenta& transfers) {
  std::vector<GammaMatrix> currents;
  for (const std::string& name : names) currents.push_back(gamma_by_name(name));
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    return nucleon_three_point(sequential, S, currents, transfers);
  }();
  return to_numpy(table);
}

/// Returns the same of the conserved vector current of Wilson-type quarks, in these directions.
Array<std::complex<double>> conserved(const GaugeField& U, const WilsonParams& hops,
                                      const Propagator& sequential, const Propagator& S,
                                      const std::vector<int>& directions, const Momenta& transfers) {
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    return conserved_three_point(U, hops, sequential, S, directions, transfers);
  }();
  return to_numpy(table);
}
}  // namespace

void bind_three_point(nb::module_& m) {
  m.def("nucleon_sequential_source", sequential_source, "up"_a, "down"_a, "separation"_a, "up_and_down"_a,
        "polarised"_a, "parity"_a, "momentum"_a, "links"_a.none() = nb::none(), "width"_a = 0.0,
        "steps"_a = 1, release_gil());
  m.def("nucleon_three_point", nucleon_three_point_array, "sequential"_a, "S"_a, "currents"_a,
        "momentum_transfers"_a);
  m.def("conserved_three_point", conserved, "links"_a, "hops"_a, "sequential"_a, "S"_a, "directions"_a,
        "momentum_transfers"_a);
}

}  // namespace trellis::bindings
