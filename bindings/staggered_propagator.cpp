/// Python gets propagators of staggered quarks here, their solves for many masses, files and mesons.
#include "trellis/measure/staggered_propagator.hpp"
#include "bindings.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/site_field_file.hpp"
#include "trellis/io/site_field_hdf5.hpp"
#include "trellis/measure/staggered.hpp"

namespace trellis::bindings {

namespace {
constexpr int64_t vector_reals = 6;

Array<std::complex<double>> staggered_to_numpy(const StaggeredPropagator& S) {
  auto array = make_array<std::complex<double>>(site_shape(S.geometry(), {3, 3}));
  const nb::gil_scoped_release release;
  S.to_canonical(array.data());
  return array;
}

StaggeredPropagator from_numpy(const std::shared_ptr<Lattice>& lattice,
                               const ArrayIn<std::complex<double>>& values, const Coord& source_at,
                               const BoundaryPhases& boundary) {
  require_shape(values, site_shape(lattice->geometry(), {3, 3}), "staggered propagator");
  const nb::gil_scoped_release release;
  return StaggeredPropagator::from_canonical(lattice, values.data(), source_at, boundary);
}

void write_hdf5(const StaggeredPropagator& S, hdf5::Group& group, const std::string& name,
                int precision_bits) {
  std::vector<std::complex<double>> local(StaggeredPropagator::canonical_size(S.geometry()));
  S.to_canonical(local.data());
  write_site_field_hdf5(group, name, S.lattice(), local.data(), {3, 3}, precision_bits);
}

/// Returns the propagator and warnings.
std::pair<StaggeredPropagator, std::vector<std::string>> read_hdf5(const hdf5::Group& group,
                                                                   const std::string& name,
                                                                   const std::shared_ptr<Lattice>& lattice,
                                                                   const Coord& source_at,
                                                                   const BoundaryPhases& boundary) {
  std::vector<std::complex<double>> local(StaggeredPropagator::canonical_size(lattice->geometry()));
  auto warnings = read_site_field_hdf5(group, name, *lattice, local.data(), {3, 3});
  return {StaggeredPropagator::from_canonical(lattice, local.data(), source_at, boundary),
          std::move(warnings)};
}

/// Each colour vector has the text of its record beside it.
using VectorRecords = std::vector<std::pair<const SpinorField*, int>>;

/// Writes the colour vectors (field, column) as records of one file.
void write_vectors(const std::string& path, const VectorRecords& vectors,
                   const std::vector<std::string>& texts, int precision_bits, const std::string& file_text,
                   const std::string& note_type, const std::string& note) {
  const Lattice& lattice = vectors.front().first->lattice();
  std::vector<std::vector<double>> local;
  std::vector<SiteFieldRecord> records;
  for (size_t i = 0; i < vectors.size(); ++i) {
    local.emplace_back(size_t(lattice.geometry().local_volume() * vector_reals));
    vectors[i].first->to_canonical(local.back().data(), vectors[i].second);
    records.push_back({local.back().data(), texts[i]});
  }
  SiteFieldOptions options;
  options.precision_bits = precision_bits;
  options.datatype = precision_bits == 32 ? "QDP_F3_ColorVector" : "QDP_D3_ColorVector";
  options.spins = 1;
  options.file_xml = file_text;
  options.extra_records = {{note_type, note}};
  write_site_fields(path, lattice, records, vector_reals, options);
}

/// Writes the columns of S, each behind that of its source where one is given; texts are those of the records
/// in this order.
void write_scidac(const StaggeredPropagator& S, const Source* source, const std::string& path,
                  int precision_bits, const std::vector<std::string>& texts, const std::string& file_text,
                  const std::string& note_type, const std::string& note) {
  VectorRecords vectors;
  for (int column = 0; column < StaggeredPropagator::columns_per_propagator; ++column) {
    if (source) vectors.emplace_back(&source->columns, column);
    vectors.emplace_back(&S.columns(), column);
  }
  TRELLIS_REQUIRE(texts.size() == vectors.size(), texts.size(), " texts for ", vectors.size(), " records");
  write_vectors(path, vectors, texts, precision_bits, file_text, note_type, note);
}

/// Returns all colour vectors of a file: arrays [t, z, y, x, colour] and texts, and warnings.
auto read_vectors(const std::string& path, const std::shared_ptr<Lattice>& lattice) {
  SiteFieldReport report;
  std::vector<SiteFieldContent> fields;
  {
    const nb::gil_scoped_release release;
    fields = read_site_fields(path, *lattice, vector_reals, report);
  }
  std::vector<std::pair<Array<std::complex<double>>, std::string>> found;
  for (const SiteFieldContent& field : fields) {
    auto array = make_array<std::complex<double>>(site_shape(lattice->geometry(), {3}));
    std::copy(field.local.begin(), field.local.end(), reinterpret_cast<double*>(array.data()));
    found.emplace_back(std::move(array), field.record_xml);
  }
  return std::pair(std::move(found), std::move(report.warnings));
}

/// Returns this rank's part of the numbers of a source: [t, z, y, x, colour of the vector, column].
Array<std::complex<double>> source_to_numpy(const Source& source) {
  TRELLIS_REQUIRE(kind_of(source) == SourceKind::colour_vector, "the source has no colour vectors");
  const StaggeredPropagator columns(source.columns, source.at, {});
  return staggered_to_numpy(columns);
}

MultiShiftSpec multi_shift_spec(double tolerance, int max_iterations, const std::string& precision) {
  MultiShiftSpec spec;
  spec.tolerance = tolerance;
  spec.max_iterations = max_iterations;
  spec.precision = precision == "double" ? Precision::double_precision : Precision::single_precision;
  return spec;
}

Array<std::complex<double>> local_mesons(const StaggeredPropagator& quark,
                                         const StaggeredPropagator& antiquark, const Momenta& momenta) {
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    return local_meson_correlators(quark, antiquark, momenta);
  }();
  return to_array(table.values, {size_t(table.rows), size_t(table.momenta), size_t(table.times)});
}

void bind_solves(nb::module_& m) {
  m.def(
      "solve_staggered_propagator",
      [](std::shared_ptr<StaggeredMatrix> matrix, const SolverSpec& solver, const Source& source,
         const StaggeredPropagator* guess) {
        return solve_staggered_propagator(matrix, solver, source, guess);
      },
      "matrix"_a, "solver"_a, "source"_a, "guess"_a.none() = nb::none(), release_gil());
  m.def(
      "solve_staggered_propagators",
      [](const StaggeredMatrix& matrix, const std::vector<double>& masses, const Source& source,
         double tolerance, int max_iterations, const std::string& precision) {
        return solve_staggered_propagators(matrix, masses, source,
                                           multi_shift_spec(tolerance, max_iterations, precision));
      },
      "matrix"_a, "masses"_a, "source"_a, "tolerance"_a, "max_iterations"_a, "precision"_a, release_gil());
  m.def(
      "staggered_mass_traces",
      [](const StaggeredMatrix& matrix, const std::vector<double>& masses, bool is_z2, uint64_t seed,
         uint64_t stream, uint32_t configuration, uint32_t first, int count, double tolerance,
         int max_iterations, const std::string& precision) {
        const Noise noise{is_z2 ? NoiseKind::z2 : NoiseKind::z4, seed, stream, configuration, first};
        MassTraces traces = staggered_mass_traces(matrix, masses, noise, count,
                                                  multi_shift_spec(tolerance, max_iterations, precision));
        return std::pair(std::move(traces.inverse), std::move(traces.report));
      },
      "matrix"_a, "masses"_a, "is_z2"_a, "seed"_a, "stream"_a, "configuration"_a, "first"_a, "count"_a,
      "tolerance"_a, "max_iterations"_a, "precision"_a, release_gil());
  m.attr("noise_vectors_at_a_time") = noise_vectors_at_a_time;
  m.def(
      "staggered_masses_bytes",
      [](const Lattice& lattice, int masses, int columns, const std::string& precision) {
        return solve_masses_bytes(lattice.geometry(), masses, columns,
                                  multi_shift_spec(1e-10, 1, precision).precision);
      },
      "lattice"_a, "masses"_a, "columns"_a, "precision"_a);
}
}  // namespace

void bind_staggered_propagator(nb::module_& m) {
  nb::class_<StaggeredPropagator>(m, "StaggeredPropagator")
      .def_static("from_numpy", from_numpy, "lattice"_a, "values"_a, "source_at"_a, "boundary"_a)
      .def_static("read_hdf5", read_hdf5, "group"_a, "name"_a, "lattice"_a, "source_at"_a, "boundary"_a,
                  release_gil())
      .def("write_hdf5", write_hdf5, "group"_a, "name"_a, "precision_bits"_a, release_gil())
      .def("write_scidac", write_scidac, "source"_a.none(), "path"_a, "precision_bits"_a, "texts"_a,
           "file_text"_a, "note_type"_a, "note"_a, release_gil())
      .def("to_numpy", staggered_to_numpy)
      .def(
          "on",
          [](const StaggeredPropagator& S, const std::string& device) {
            return std::make_shared<StaggeredPropagator>(S.on(backend_by_name(device)));
          },
          "device"_a, release_gil())
      .def(
          "smeared",
          [](const StaggeredPropagator& S, const GaugeField& U, double width, int steps) {
            return sink_smeared(S, U, {width, steps});
          },
          "links"_a, "width"_a, "steps"_a, release_gil())
      .def_prop_ro(
          "device",
          [](const StaggeredPropagator& S) { return std::string(name_of(S.columns().spec().backend)); })
      .def_prop_ro(
          "lattice",
          [](const StaggeredPropagator& S) { return std::const_pointer_cast<Lattice>(S.lattice_ptr()); })
      .def_prop_ro("source_at", &StaggeredPropagator::source_at)
      .def_prop_ro("boundary", &StaggeredPropagator::boundary)
      .def_prop_ro("description", &StaggeredPropagator::description)
      .def_prop_ro("report", &StaggeredPropagator::report)
      .def_prop_ro("bytes", &StaggeredPropagator::bytes)
      .def_prop_ro("norm2", [](const StaggeredPropagator& S) { return norm2(S.columns()); });
  bind_solves(m);
  m.def("read_colour_vectors", read_vectors, "path"_a, "lattice"_a);
  m.def("source_to_numpy", source_to_numpy, "source"_a);
  m.def("local_staggered_mesons", local_mesons, "quark"_a, "antiquark"_a, "momenta"_a);
  m.def(
      "local_staggered_meson_bytes",
      [](const Lattice& lattice, int momenta) { return local_meson_bytes(lattice.geometry(), momenta); },
      "lattice"_a, "momenta"_a);
  m.def(
      "staggered_propagator_bytes",
      [](const Lattice& lattice) { return StaggeredPropagator::canonical_size(lattice.geometry()) * 16; },
      "lattice"_a);
}

}  // namespace trellis::bindings
