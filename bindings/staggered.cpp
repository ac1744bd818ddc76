/// Python gets staggered fermions here: links, operators, HISQ links, traces and correlators.
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/measure/staggered.hpp"

namespace trellis::bindings {

namespace {

std::shared_ptr<SpinorField> vector_from_numpy(const StaggeredMatrix& matrix,
                                               const ArrayIn<std::complex<double>>& values) {
  auto field = std::make_shared<SpinorField>(matrix.hopping().make_field(Subset::full, 1));
  require_shape(values, site_shape(field->geometry(), {3}), "colour-vector field");
  const nb::gil_scoped_release release;
  field->from_canonical(reinterpret_cast<const double*>(values.data()));
  return field;
}
Array<std::complex<double>> vector_to_numpy(const SpinorField& field) {
  auto array = make_array<std::complex<double>>(site_shape(field.geometry(), {3}));
  const nb::gil_scoped_release release;
  field.to_canonical(reinterpret_cast<double*>(array.data()));
  return array;
}
}  // namespace

void bind_staggered(nb::module_& m) {
  nb::class_<StaggeredPhases>(m, "StaggeredPhases")
      .def(nb::init<>())
      .def_rw("boundary", &StaggeredPhases::boundary)
      .def_rw("mu_over_ipiT", &StaggeredPhases::mu_over_ipiT)
      .def_rw("flux", &StaggeredPhases::flux);
  m.def("flux_of", &flux_of, "charge_thirds"_a, "b"_a, "e"_a);

  nb::class_<HisqLinks>(m, "HisqLinks")
      .def(
          "__init__",
          [](HisqLinks* self, const GaugeField& links) {
            stop_together(links.lattice().communicator());  // no sum of fat links carries a request
            new (self) HisqLinks(links);
          },
          "links"_a, release_gil())
      .def("fat", &HisqLinks::fat, "epsilon"_a, release_gil())
      .def(
          "long_field", [](const HisqLinks& links) { return GaugeField(links.long_field()); }, release_gil());
  m.def("hisq_long_coefficient", &hisq_long_coefficient, "epsilon"_a);

  nb::class_<StaggeredLinks>(m, "StaggeredLinks")
      .def(
          "__init__",
          [](StaggeredLinks* self, const GaugeField& U, int link_reals) {
            KernelChoice choice;
            choice.link_reals = link_reals;
            choice.backend = U.backend();
            new (self) StaggeredLinks(U, choice);
          },
          "links"_a, "link_reals"_a, release_gil())
      .def(
          "__init__",
          [](StaggeredLinks* self, const GaugeField& fat, const GaugeField& long_field, double coefficient,
             bool is_unitary) {
            KernelChoice choice;
            choice.backend = fat.backend();
            new (self) StaggeredLinks(fat, long_field, coefficient, is_unitary, choice);
          },
          "fat"_a, "long_links"_a, "coefficient"_a, "is_unitary"_a, release_gil());

  nb::class_<StaggeredMatrix>(m, "StaggeredMatrix")
      .def(
          "__init__",
          [](StaggeredMatrix* self, std::shared_ptr<StaggeredLinks> links, const StaggeredPhases& phases,
             double mass) { new (self) StaggeredMatrix(std::move(links), phases, mass); },
          "links"_a, "phases"_a, "mass"_a, release_gil())
      .def_prop_ro("mass", &StaggeredMatrix::mass)
      .def("vector", vector_from_numpy, "values"_a)
      .def_static("to_numpy", vector_to_numpy, "vector"_a);
  nb::class_<StaggeredOperator, LinearOperator>(m, "StaggeredOperator")
      .def(
          "__init__",
          [](StaggeredOperator* self, std::shared_ptr<StaggeredMatrix> matrix) {
            new (self) StaggeredOperator(std::move(matrix));
          },
          "matrix"_a);

  nb::class_<StaggeredTraces>(m, "StaggeredTraces")
      .def_ro("inverse", &StaggeredTraces::inverse)
      .def_ro("density", &StaggeredTraces::density)
      .def_ro("curvature", &StaggeredTraces::curvature)
      .def_ro("magnetisation", &StaggeredTraces::magnetisation)
      .def_ro("report", &StaggeredTraces::report);
  m.def(
      "staggered_noise_traces",
      [](std::shared_ptr<StaggeredMatrix> matrix, bool is_z2, uint64_t seed, uint64_t stream,
         uint32_t configuration, uint32_t first, int count, bool has_curvature, std::vector<int> planes,
         const SolverSpec& solver) {
        const Noise noise{is_z2 ? NoiseKind::z2 : NoiseKind::z4, seed, stream, configuration, first};
        return staggered_traces(matrix, staggered_noise(*matrix, noise, count),
                                {has_curvature, std::move(planes)}, solver);
      },
      "matrix"_a, "is_z2"_a, "seed"_a, "stream"_a, "configuration"_a, "first"_a, "count"_a, "has_curvature"_a,
      "planes"_a, "solver"_a, release_gil());
  nb::class_<GoldstonePion>(m, "GoldstonePion")
      .def_ro("correlator", &GoldstonePion::correlator)
      .def_ro("report", &GoldstonePion::report);
  m.def(
      "goldstone_pion",
      [](std::shared_ptr<StaggeredMatrix> matrix, const Coord& source, const SolverSpec& solver) {
        return goldstone_pion(matrix, source, solver);
      },
      "matrix"_a, "source"_a, "solver"_a, release_gil());
}

}  // namespace trellis::bindings
