/// Gauge fields, their observables, and their generation.
#include "bindings.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/topological_charge.hpp"

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
}  // namespace

void bind_gauge(nb::module_& m) {
  nb::class_<GaugeField>(m, "GaugeField")
      .def(
          "__init__",
          [](GaugeField* self, std::shared_ptr<Lattice> lattice) { new (self) GaugeField(lattice); },
          "lattice"_a)
      .def_prop_ro("lattice",
                   [](const GaugeField& U) { return std::const_pointer_cast<Lattice>(U.lattice_ptr()); })
      .def(
          "copy", [](const GaugeField& U) { return std::make_shared<GaugeField>(U); }, release_gil())
      .def(
          "plaquette", [](const GaugeField& U) { return plaquette(U); }, release_gil())
      .def(
          "polyakov_loop", [](const GaugeField& U) { return polyakov_loop(U); }, release_gil())
      .def("loops", loops)
      .def(
          "stout", [](const GaugeField& U, double rho, int steps) { return stout_smear(U, rho, steps); },
          "rho"_a, "steps"_a, release_gil())
      .def(
          "topological_charge",
          [](const GaugeField& U) { return topological_charge(U, ChargeDefinition::clover); }, release_gil())
      .def("to_numpy", links_to_numpy)
      .def("from_numpy", links_from_numpy, "links"_a);
}

}  // namespace trellis::bindings
