/// Python gets low modes of fermion operators here, and solvers that are deflated with them.
#include <nanobind/stl/pair.h>

#include "bindings.hpp"
#include "eigenvector_file.hpp"
#include "schur_form.hpp"
#include "trellis/solver/eigen/block_lanczos.hpp"

namespace trellis::bindings {

namespace {
/// Returns the system that a form names: M itself or its Schur complement.
LinearOperatorPtr system(const LinearOperatorPtr& M, const std::string& form) {
  const auto schur = form_by_name(form);
  return schur ? LinearOperatorPtr(require_schur(*M, *schur)) : M;
}

std::shared_ptr<Eigenvectors> find(std::shared_ptr<LinearOperator> M, const std::string& form,
                                   const LanczosSpec& spec) {
  return std::make_shared<Eigenvectors>(lanczos(system(M, form), spec));
}

std::shared_ptr<Prepared> update(const Prepared& before, std::shared_ptr<LinearOperator> M,
                                 const std::string& form) {
  return std::const_pointer_cast<Prepared>(before.updated(system(M, form)));
}

/// Returns the modes and warnings.
std::pair<std::shared_ptr<Eigenvectors>, std::vector<std::string>> read(const hdf5::Group& group,
                                                                        std::shared_ptr<LinearOperator> M,
                                                                        const std::string& form,
                                                                        const std::string& storage) {
  std::vector<std::string> warnings;
  auto modes = std::make_shared<Eigenvectors>(
      read_eigenvectors(group, *system(M, form), precision_by_name(storage), warnings));
  return {std::move(modes), std::move(warnings)};
}
}  // namespace

void bind_eigen(nb::module_& m) {
  nb::class_<LanczosSpec>(m, "LanczosSpec")
      .def(nb::init<>())
      .def_rw("count", &LanczosSpec::count)
      .def_rw("block", &LanczosSpec::block)
      .def_rw("basis", &LanczosSpec::basis)
      .def_rw("tolerance", &LanczosSpec::tolerance)
      .def_rw("max_restarts", &LanczosSpec::max_restarts)
      .def_rw("degree", &LanczosSpec::degree)
      .def_rw("cutoff", &LanczosSpec::cutoff)
      .def_rw("upper", &LanczosSpec::upper)
      .def_rw("seed", &LanczosSpec::seed)
      .def("set_storage",
           [](LanczosSpec& spec, const std::string& name) { spec.storage = precision_by_name(name); });
  nb::class_<Prepared>(m, "Prepared")
      .def_prop_ro("name", &Prepared::name)
      .def_prop_ro("bytes", &Prepared::memory)
      .def("updated", update, "operator"_a, "even_odd"_a, release_gil());
  nb::class_<Eigenvectors, Prepared>(m, "Eigenvectors")
      .def_rw("tolerance", &Eigenvectors::tolerance)
      .def_ro("values", &Eigenvectors::values)
      .def_ro("relative_residual", &Eigenvectors::relative_residual)
      .def_rw("upper", &Eigenvectors::upper)
      .def_ro("operator_name", &Eigenvectors::operator_name)
      .def_rw("converged", &Eigenvectors::converged)
      .def_rw("restarts", &Eigenvectors::restarts)
      .def_rw("degree", &Eigenvectors::degree)
      .def_rw("cutoff", &Eigenvectors::cutoff)
      .def_rw("seconds", &Eigenvectors::seconds)
      .def_rw("flops", &Eigenvectors::flops)
      .def(
          "write_hdf5",
          [](const Eigenvectors& modes, hdf5::Group& group, int bits) {
            write_eigenvectors(group, modes, bits);
          },
          "group"_a, "precision_bits"_a, release_gil());
  m.def("lanczos", find, "operator"_a, "even_odd"_a, "spec"_a, release_gil());
  m.def("read_eigenvectors", read, "group"_a, "operator"_a, "even_odd"_a, "storage"_a, release_gil());
}

}  // namespace trellis::bindings
