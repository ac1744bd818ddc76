/// Domain-wall operators and propagators.
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "schur_form.hpp"
#include "trellis/measure/domain_wall_propagator.hpp"

namespace trellis::bindings {

namespace {
std::tuple<Propagator, std::optional<Propagator>, std::vector<double>> solve(
    const DomainWallOperator& D, const SolverSpec& solver, const Source& source, const std::string& even_odd,
    int columns_per_solve, bool axial_current) {
  DomainWallPropagator S = solve_domain_wall(
      D.matrix(), {solver, schur_form_by_name(even_odd), columns_per_solve, false, axial_current}, source);
  return {std::move(S.quark), std::move(S.midpoint), std::move(S.axial_current)};
}
}  // namespace

void bind_domain_wall(nb::module_& m) {
  nb::class_<DomainWallParams>(m, "DomainWallParams")
      .def(nb::init<>())
      .def_rw("mass", &DomainWallParams::mass)
      .def_rw("M5", &DomainWallParams::M5)
      .def_rw("Ls", &DomainWallParams::Ls)
      .def_rw("b5", &DomainWallParams::b5)
      .def_rw("c5", &DomainWallParams::c5)
      .def_rw("boundary", &DomainWallParams::boundary);
  nb::class_<DomainWallOperator, LinearOperator>(m, "DomainWallOperator")
      .def(
          "__init__",
          [](DomainWallOperator* self, const GaugeField& U, const DomainWallParams& params, int link_reals) {
            new (self) DomainWallOperator(U, params, {Precision::double_precision, link_reals});
          },
          "links"_a, "params"_a, "link_reals"_a = 18, release_gil());
  m.def("solve_domain_wall", solve, "operator"_a, "solver"_a, "source"_a, "even_odd"_a, "columns_per_solve"_a,
        "axial_current"_a = false, release_gil());
  m.def("propagator_norm", &propagator_norm, "S"_a, release_gil());
  m.def(
      "domain_wall_solve_bytes",
      [](const Lattice& l, int Ls, int columns) {
        return domain_wall_solve_bytes(l.geometry(), Ls, columns);
      },
      "lattice"_a, "Ls"_a, "columns_per_solve"_a);
}

}  // namespace trellis::bindings
