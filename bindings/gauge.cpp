/// Gauge fields, their observables, and their generation.
#include "bindings.hpp"
#include "trellis/field/gauge_field.hpp"

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
}  // namespace

void bind_gauge(nb::module_& m) {
  nb::class_<GaugeField>(m, "GaugeField")
      .def("__init__", [](GaugeField* self, std::shared_ptr<Lattice> lattice) { new (self) GaugeField(lattice); },
           "lattice"_a)
      .def_prop_ro("lattice", [](const GaugeField& U) { return std::const_pointer_cast<Lattice>(U.lattice_ptr()); })
      .def("copy", [](const GaugeField& U) { return std::make_shared<GaugeField>(U); }, release_gil())
      .def("to_numpy", links_to_numpy)
      .def("from_numpy", links_from_numpy, "links"_a);
}

}  // namespace trellis::bindings
