/// Python gets gauge fields, their observables and their generation here.
#include "bindings.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/topological_charge.hpp"
#include "trellis/gauge/wilson_loops.hpp"

namespace trellis::bindings {

namespace {
Array<std::complex<double>> links_to_numpy(const GaugeField& U) {
  auto array = make_array<std::complex<double>>(site_shape(U.geometry(), {4, 3, 3}));
  {
    const nb::gil_scoped_release release;
    U.to_canonical(reinterpret_cast<double*>(array.data()));
  }
  return array;
}

void links_from_numpy(GaugeField& U, const ArrayIn<std::complex<double>>& links) {
  require_shape(links, site_shape(U.geometry(), {4, 3, 3}), "links");
  const nb::gil_scoped_release release;
  U.from_canonical(reinterpret_cast<const double*>(links.data()));
}

nb::dict loops(const GaugeField& U) {
  const GaugeLoops found = [&] {
    const nb::gil_scoped_release release;
    return measure_loops(U);
  }();
  nb::dict d;
  d["plaquette"] = found.plaquette;
  d["plaquette_spatial"] = found.plaquette_spatial;
  d["plaquette_temporal"] = found.plaquette_temporal;
  d["rectangle"] = found.rectangle;
  d["link_trace"] = found.link_trace;
  d["polyakov_loop"] = found.polyakov_loop;
  d["unitarity_violation"] = found.unitarity_violation;
  return d;
}

nb::dict flow_observables(const GaugeField& V) {
  double values[4];
  {
    const nb::gil_scoped_release release;
    values[0] = energy_density_clover(V);
    values[1] = energy_density_plaquette(V);
    values[2] = topological_charge(V, ChargeDefinition::clover);
    values[3] = topological_charge(V, ChargeDefinition::improved);
  }
  nb::dict d;
  d["energy_clover"] = values[0];
  d["energy_plaquette"] = values[1];
  d["charge_clover"] = values[2];
  d["charge_improved"] = values[3];
  return d;
}

void bind_flow(nb::module_& m) {
  nb::class_<AdaptiveFlow>(m, "GradientFlow")
      .def(
          "__init__",
          [](AdaptiveFlow* self, const GaugeField& U, double c1, double tolerance, double first,
             double largest) {
            new (self) AdaptiveFlow(U, c1, {tolerance, first, largest});
          },
          "links"_a, "c1"_a, "tolerance"_a, "first_step"_a, "largest_step"_a)
      .def("advance", &AdaptiveFlow::advance, "time"_a, release_gil())
      .def_prop_ro("time", &AdaptiveFlow::time)
      .def_prop_ro("steps", &AdaptiveFlow::steps)
      .def("observables", [](const AdaptiveFlow& flow) { return flow_observables(flow.field()); })
      .def(
          "field", [](const AdaptiveFlow& flow) { return std::make_shared<GaugeField>(flow.field()); },
          release_gil());
  nb::class_<GradientFlow>(m, "FixedStepFlow")
      .def(
          "__init__",
          [](GradientFlow* self, const GaugeField& U, double c1) { new (self) GradientFlow(U, c1); },
          "links"_a, "c1"_a)
      .def("step", &GradientFlow::step, "epsilon"_a, release_gil())
      .def_prop_ro("time", &GradientFlow::time)
      .def("observables", [](const GradientFlow& flow) { return flow_observables(flow.field()); })
      .def(
          "field", [](const GradientFlow& flow) { return std::make_shared<GaugeField>(flow.field()); },
          release_gil());
}
}  // namespace

void bind_gauge(nb::module_& m) {
  bind_flow(m);
  nb::class_<GaugeField>(m, "GaugeField")
      .def(
          "__init__",
          [](GaugeField* self, std::shared_ptr<Lattice> lattice) { new (self) GaugeField(lattice); },
          "lattice"_a)
      .def_prop_ro("lattice",
                   [](const GaugeField& U) { return std::const_pointer_cast<Lattice>(U.lattice_ptr()); })
      .def(
          "on",
          [](const GaugeField& U, const std::string& device) {
            return std::make_shared<GaugeField>(U.on(backend_by_name(device)));
          },
          "device"_a, release_gil())
      .def_prop_ro("device", [](const GaugeField& U) { return std::string(name_of(U.backend())); })
      .def(
          "copy", [](const GaugeField& U) { return std::make_shared<GaugeField>(U); }, release_gil())
      .def(
          "plaquette", [](const GaugeField& U) { return plaquette(U); }, release_gil())
      .def(
          "polyakov_loop", [](const GaugeField& U, int mu) { return polyakov_loop(U, mu); }, "mu"_a,
          release_gil())
      .def("loops", loops)
      .def(
          "unitarity_violation",
          [](const GaugeField& U) {
            stop_together(U.lattice().communicator());  // a maximum alone carries no request
            return unitarity_violation(U);
          },
          release_gil())
      .def(
          "wilson_loops",
          [](const GaugeField& U, int spatial_extent, int temporal_extent, const std::string& planes) {
            return wilson_loops(U, spatial_extent, temporal_extent, loop_planes_of(planes));
          },
          "spatial_extent"_a, "temporal_extent"_a, "planes"_a, release_gil())
      .def(
          "stout",
          [](const GaugeField& U, const StoutWeights& rho, int steps) { return stout_smear(U, rho, steps); },
          "rho"_a, "steps"_a, release_gil())
      .def(
          "ape",
          [](const GaugeField& U, double alpha, int steps, bool is_spatial_only) {
            return ape_smear(U, {alpha, steps, is_spatial_only, Su3Projection::maximal_trace});
          },
          "alpha"_a, "steps"_a, "spatial"_a, release_gil())
      .def(
          "topological_charge",
          [](const GaugeField& U) { return topological_charge(U, ChargeDefinition::clover); }, release_gil())
      .def("to_numpy", links_to_numpy)
      .def("from_numpy", links_from_numpy, "links"_a);
}

}  // namespace trellis::bindings
