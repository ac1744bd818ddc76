/// Python gets fermion fields and Dirac operators here.
#include "bindings.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::bindings {

namespace {
/// Returns [t, z, y, x, spin, colour], with the slices of a fifth dimension before it.
std::vector<size_t> spinor_shape(const Geometry& geometry, int slices) {
  std::vector<size_t> shape = site_shape(geometry, {4, 3});
  if (slices > 1) shape.insert(shape.begin(), size_t(slices));
  return shape;
}

/// Returns how many doubles one slice has on this rank.
size_t slice_stride(const Geometry& geometry) { return size_t(geometry.local_volume()) * 24; }

Array<std::complex<double>> spinor_to_numpy(const SpinorField& psi) {
  auto array = make_array<std::complex<double>>(spinor_shape(psi.geometry(), psi.slices()));
  {
    const nb::gil_scoped_release release;
    auto* out = reinterpret_cast<double*>(array.data());
    for (int s = 0; s < psi.slices(); ++s) psi.to_canonical(out + s * slice_stride(psi.geometry()), s);
  }
  return array;
}

std::shared_ptr<SpinorField> spinor_from_numpy(std::shared_ptr<Lattice> lattice,
                                               const ArrayIn<std::complex<double>>& values, int slices) {
  require_shape(values, spinor_shape(lattice->geometry(), slices), "spinor field");
  auto psi = std::make_shared<SpinorField>(lattice, FieldSpec{.slices = slices});
  const nb::gil_scoped_release release;
  const auto* in = reinterpret_cast<const double*>(values.data());
  for (int s = 0; s < slices; ++s) psi->from_canonical(in + s * slice_stride(lattice->geometry()), s);
  return psi;
}

/// Returns A in or A^dagger in: the fields are converted to the operator's storage and back. It sums nothing
/// that would carry a request: a loop in Python over applications ends here.
SpinorField applied(const LinearOperator& A, const SpinorField& in, bool is_dagger) {
  stop_together(in.lattice().communicator());
  SpinorField x = is_dagger ? A.make_range_field(in.rhs()) : A.make_field(in.rhs()),
              y = is_dagger ? A.make_field(in.rhs()) : A.make_range_field(in.rhs());
  convert(x, in);
  is_dagger ? A.apply_dagger(y, x) : A.apply(y, x);
  SpinorField out = SpinorField::like(in);
  convert(out, y);
  return out;
}
}  // namespace

void bind_operator(nb::module_& m) {
  nb::class_<SpinorField>(m, "SpinorField")
      .def_static("from_numpy", spinor_from_numpy, "lattice"_a, "values"_a, "slices"_a = 1)
      .def("to_numpy", spinor_to_numpy)
      .def(
          "norm2", [](const SpinorField& psi) { return norm2(psi); }, release_gil())
      .def(
          "dot", [](const SpinorField& a, const SpinorField& b) { return dot(a, b); }, "other"_a,
          release_gil());

  nb::class_<Cost>(m, "Cost")
      .def_ro("flops", &Cost::flops)
      .def_ro("conventional_flops", &Cost::conventional_flops)
      .def_ro("bytes", &Cost::bytes)
      .def_ro("sums", &Cost::sums)
      .def_ro("launches", &Cost::launches)
      .def_prop_ro("messages", &Cost::message_count)
      .def_prop_ro("message_bytes", &Cost::message_bytes);

  nb::class_<LinearOperator>(m, "LinearOperator")
      .def(
          "apply", [](const LinearOperator& A, const SpinorField& in) { return applied(A, in, false); },
          "psi"_a, release_gil())
      .def(
          "apply_dagger", [](const LinearOperator& A, const SpinorField& in) { return applied(A, in, true); },
          "psi"_a, release_gil())
      .def("cost", &LinearOperator::cost, "columns"_a)
      .def_prop_ro("name", &LinearOperator::name);

  nb::class_<WilsonParams>(m, "WilsonParams")
      .def(nb::init<>())
      .def_rw("mass", &WilsonParams::mass)
      .def_rw("csw_spatial", &WilsonParams::csw_spatial)
      .def_rw("csw_temporal", &WilsonParams::csw_temporal)
      .def_rw("nu", &WilsonParams::nu)
      .def_rw("xi0", &WilsonParams::xi0)
      .def_rw("twisted_mass", &WilsonParams::twisted_mass)
      .def_rw("boundary", &WilsonParams::boundary);
  m.def("kappa_to_mass", &kappa_to_mass, "kappa"_a);
  m.def("mass_to_kappa", &mass_to_kappa, "mass"_a);

  nb::class_<WilsonOperator, LinearOperator>(m, "WilsonOperator")
      .def(
          "__init__",
          [](WilsonOperator* self, const GaugeField& U, const WilsonParams& params,
             const std::string& precision, int link_reals) {
            new (self) WilsonOperator(U, params, {precision_by_name(precision), link_reals, U.backend()});
          },
          "links"_a, "params"_a, "precision"_a = "double", "link_reals"_a = 18, release_gil());
}

}  // namespace trellis::bindings
