/// Python gets sources, propagators and correlators here.
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tables.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/lime.hpp"
#include "trellis/io/site_field_file.hpp"
#include "trellis/io/site_field_hdf5.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/conserved_current.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/measure/noise.hpp"
#include "trellis/measure/propagator.hpp"
#include "trellis/measure/wilson_traces.hpp"

namespace trellis::bindings {

namespace {
const std::initializer_list<size_t> propagator_inner{4, 4, 3, 3};

Propagator solved_propagator(const WilsonOperator& M, const SolverSpec& solver, const Source& source,
                             const Propagator* guess) {
  return solve_propagator(M.matrix(), solver, source, guess);
}

/// Returns Gamma_w S of the conserved vector current in direction mu, with a momentum.
Source conserved_source(const Propagator& S, const GaugeField& U, const WilsonParams& hops, int mu,
                        const Momentum& n, std::optional<int> time) {
  const LinkWeights weights = current_weights(mu, n, S.source_at(), S.geometry().lattice(), time);
  return conserved_current_source(S, ConservedCurrent(U, hops, weights));
}

Array<std::complex<double>> propagator_to_numpy(const Propagator& S) {
  auto array = make_array<std::complex<double>>(site_shape(S.geometry(), propagator_inner));
  {
    const nb::gil_scoped_release release;
    S.to_canonical(array.data());
  }
  return array;
}

Propagator propagator_from_numpy(const std::shared_ptr<Lattice>& lattice,
                                 const ArrayIn<std::complex<double>>& values, const Coord& source_at,
                                 const BoundaryPhases& boundary) {
  require_shape(values, site_shape(lattice->geometry(), propagator_inner), "propagator");
  const nb::gil_scoped_release release;
  return Propagator::from_canonical(lattice, values.data(), source_at, boundary);
}

void write_propagator_sites(const Propagator& S, hdf5::Group& group, const std::string& name,
                            int precision_bits) {
  std::vector<std::complex<double>> local(Propagator::canonical_size(S.geometry()));
  S.to_canonical(local.data());
  write_site_field_hdf5(group, name, S.lattice(), local.data(), {4, 4, 3, 3}, precision_bits);
}

/// Returns the propagator and warnings.
std::pair<Propagator, std::vector<std::string>> read_propagator_sites(const hdf5::Group& group,
                                                                      const std::string& name,
                                                                      const std::shared_ptr<Lattice>& lattice,
                                                                      const Coord& source_at,
                                                                      const BoundaryPhases& boundary) {
  std::vector<std::complex<double>> local(Propagator::canonical_size(lattice->geometry()));
  auto warnings = read_site_field_hdf5(group, name, *lattice, local.data(), {4, 4, 3, 3});
  return {Propagator::from_canonical(lattice, local.data(), source_at, boundary), std::move(warnings)};
}

/// Writes a SciDAC file as Chroma writes it; `note` is the record's text.
void write_propagator_scidac(const Propagator& S, const std::string& path, int precision_bits,
                             const std::string& note) {
  std::vector<std::complex<double>> local(Propagator::canonical_size(S.geometry()));
  S.to_canonical(local.data());
  SiteFieldOptions options;
  options.precision_bits = precision_bits;
  options.record_xml = note;
  write_propagator(path, S.lattice(), reinterpret_cast<const double*>(local.data()), options);
}

/// Reads <propagator> ... <at>x y z t</at></propagator> in the record's text, as Trellis writes it, and
/// returns the site. What cannot be understood is a warning.
std::optional<Coord> stated_source(const std::string& path, SiteFieldReport& report) {
  std::optional<Coord> stated;
  for (const auto& [type, text] : report.metadata) {
    const auto propagator = io::xml_value(text, "propagator");
    const auto at = type == "scidac-record-xml" && propagator ? io::xml_value(*propagator, "at")
                                                              : std::optional<std::string>();
    if (!at) continue;
    std::istringstream words(*at);
    Coord x{};
    std::string more;
    for (int& component : x) words >> component;
    if (!words || words >> more) {
      report.warnings.push_back("scidac-record-xml: <at> should be four integers, found '" + *at + "'");
      continue;
    }
    if (stated && *stated != x) throw FileError(path + ": two records state different places of the source");
    stated = x;
  }
  return stated;
}

std::string in_words(const Coord& x) { return message("(", x[0], ", ", x[1], ", ", x[2], ", ", x[3], ")"); }

/// Returns where the source is: as the caller says, else as the file does; they must agree.
Coord source_of(const std::string& path, const Geometry& geometry, const std::optional<Coord>& given,
                SiteFieldReport& report) {
  const std::optional<Coord> stated = stated_source(path, report);
  if (!stated && !given)
    throw BadArgument(message(path, " does not say where the source is: give source_at"));
  if (stated && given && *stated != *given)
    throw FileError(
        message(path, ": expected the source at ", in_words(*given), ", found ", in_words(*stated)));
  const Coord at = given.value_or(stated.value_or(Coord{}));
  for (size_t mu = 0; mu < Nd; ++mu)
    if (at[mu] < 0 || at[mu] >= geometry.lattice()[mu])
      throw FileError(message(path, ": the source at ", in_words(at), " lies outside the lattice ",
                              to_string(geometry.lattice())));
  return at;
}

/// Returns the propagator and warnings.
std::pair<Propagator, std::vector<std::string>> read_propagator_scidac(
    const std::string& path, const std::shared_ptr<Lattice>& lattice, const std::optional<Coord>& source_at,
    const BoundaryPhases& boundary) {
  std::vector<std::complex<double>> local(Propagator::canonical_size(lattice->geometry()));
  SiteFieldReport report = read_propagator(path, *lattice, reinterpret_cast<double*>(local.data()));
  const Coord at = source_of(path, lattice->geometry(), source_at, report);
  return {Propagator::from_canonical(lattice, local.data(), at, boundary), std::move(report.warnings)};
}

SourceKind source_kind(bool has_spin) { return has_spin ? SourceKind::spinor : SourceKind::colour_vector; }

SourceSites source_sites(const std::string& name) {
  if (name != "all" && name != "corners")
    throw BadArgument(message("unknown sites '", name, "'; legal: all, corners"));
  return name == "all" ? SourceSites::all : SourceSites::corners;
}

Source noise(const std::shared_ptr<Lattice>& lattice, const std::string& kind, uint64_t seed,
             uint32_t configuration, uint32_t index, std::optional<int> time, bool has_spin,
             const std::string& sites, const std::string& device) {
  const std::map<std::string, NoiseKind> kinds{
      {"z2", NoiseKind::z2}, {"z4", NoiseKind::z4}, {"u1", NoiseKind::u1}};
  if (!kinds.contains(kind)) throw BadArgument(message("unknown noise '", kind, "'; legal: z2, z4, u1"));
  const Noise noise{kinds.at(kind), seed, 0, configuration, index};
  return noise_source(lattice, noise, time.value_or(all_times), source_kind(has_spin), source_sites(sites),
                      backend_by_name(device));
}

/// Returns [pair][momentum][time].
Array<std::complex<double>> mesons(const Propagator& quark, const Propagator& antiquark,
                                   const std::vector<std::pair<std::string, std::string>>& names,
                                   const Momenta& momenta) {
  std::vector<MesonPair> pairs;
  for (const auto& [sink, source] : names) pairs.push_back({gamma_by_name(sink), gamma_by_name(source)});
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    return meson_correlators(quark, antiquark, pairs, momenta);
  }();
  return to_numpy(table);
}

Array<std::complex<double>> all_mesons(const Propagator& quark, const Propagator& antiquark,
                                       const Momenta& momenta) {
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    return all_meson_correlators(quark, antiquark, momenta);
  }();
  return to_numpy(table);
}

Flavour flavour_by_name(const std::string& name) {
  if (name == "up") return Flavour::up;
  if (name == "down") return Flavour::down;
  if (name == "strange") return Flavour::strange;
  throw BadArgument(message("unknown flavour '", name, "'; legal: up, down, strange"));
}

/// Returns Gamma as a 4 x 4 array.
Array<std::complex<double>> gamma_matrix(const std::string& name) {
  const GammaMatrix gamma = gamma_by_name(name);
  auto array = make_array<std::complex<double>>({4, 4});
  std::fill_n(array.data(), 16, 0.0);
  for (size_t row = 0; row < 4; ++row) array.data()[4 * row + size_t(gamma.column[row])] = gamma.phase[row];
  return array;
}

/// Returns octet and decuplet of the form `full` as [1][momentum][time]: tr[(1 + parity gamma_t)/2 < B Bbar
/// >], with `polarised` times -i gamma_x gamma_y (octet only). With an insertion it is N(t) of the
/// Feynman-Hellmann method.
Array<std::complex<double>> full_baryon(const BaryonQuarks& quarks, const std::string& name, int parity,
                                        const Momenta& momenta, bool polarised, const Propagator* inserted,
                                        const std::string& flavour) {
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    const Insertion insertion{flavour_by_name(flavour), inserted};
    if (!polarised && is_decuplet(name))
      return decuplet_correlators(quarks, {name}, momenta, parity, inserted ? &insertion : nullptr);
    return octet_correlators(quarks, {name},
                             {polarised ? polarised_projector(parity) : parity_projector(parity)}, momenta,
                             octet_diquark(), inserted ? &insertion : nullptr);
  }();
  return to_numpy(table);
}

/// Returns octet and decuplet of the form `projected`: [spin state][momentum][time].
Array<std::complex<double>> projected_baryon(const BaryonQuarks& quarks, const std::string& name, int parity,
                                             const Momenta& momenta, const Propagator* inserted,
                                             const std::string& flavour) {
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    const Insertion insertion{flavour_by_name(flavour), inserted};
    return projected_correlators(quarks, baryon_states({name}), momenta, parity,
                                 inserted ? &insertion : nullptr);
  }();
  return to_numpy(table);
}

void bind_baryons(nb::module_& m) {
  nb::class_<BaryonQuarks>(m, "BaryonQuarks")
      .def(
          "__init__",
          [](BaryonQuarks* self, const Propagator* up, const Propagator* down, const Propagator* strange) {
            new (self) BaryonQuarks{up, down, strange};
          },
          "up"_a.none(), "down"_a.none(), "strange"_a.none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
          nb::keep_alive<1, 4>());
  m.def("octet_names", &octet_names);
  m.def("decuplet_names", &decuplet_names);
  m.def("full_baryon", full_baryon, "quarks"_a, "name"_a, "parity"_a, "momenta"_a, "polarised"_a = false,
        "inserted"_a.none() = nb::none(), "flavour"_a = "up");
  m.def("projected_baryon", projected_baryon, "quarks"_a, "name"_a, "parity"_a, "momenta"_a,
        "inserted"_a.none() = nb::none(), "flavour"_a = "up");
}

void bind_propagator(nb::module_& m) {
  nb::class_<Propagator>(m, "Propagator")
      .def_static("from_numpy", propagator_from_numpy, "lattice"_a, "values"_a, "source_at"_a, "boundary"_a)
      .def_static("read_hdf5", read_propagator_sites, "group"_a, "name"_a, "lattice"_a, "source_at"_a,
                  "boundary"_a, release_gil())
      .def("write_hdf5", write_propagator_sites, "group"_a, "name"_a, "precision_bits"_a, release_gil())
      .def("write_scidac", write_propagator_scidac, "path"_a, "precision_bits"_a, "note"_a, release_gil())
      .def_static("read_scidac", read_propagator_scidac, "path"_a, "lattice"_a, "source_at"_a.none(),
                  "boundary"_a, release_gil())
      .def("to_numpy", propagator_to_numpy)
      .def(
          "on",
          [](const Propagator& S, const std::string& device) {
            return std::make_shared<Propagator>(S.on(backend_by_name(device)));
          },
          "device"_a, release_gil())
      .def_prop_ro("device",
                   [](const Propagator& S) { return std::string(name_of(S.columns().spec().backend)); })
      .def_prop_ro("lattice",
                   [](const Propagator& S) { return std::const_pointer_cast<Lattice>(S.lattice_ptr()); })
      .def_prop_ro("source_at", &Propagator::source_at)
      .def_prop_ro("boundary", &Propagator::boundary)
      .def_prop_ro("description", &Propagator::description)
      .def_prop_ro("report", &Propagator::report)
      .def_prop_ro("bytes", &Propagator::bytes);
  m.def("solve_propagator", solved_propagator, "operator"_a, "solver"_a, "source"_a,
        "guess"_a.none() = nb::none(), release_gil());
  nb::class_<WilsonTraces>(m, "WilsonTraces")
      .def_ro("inverse", &WilsonTraces::inverse)
      .def_ro("gamma5", &WilsonTraces::gamma5)
      .def_ro("density", &WilsonTraces::density)
      .def_ro("curvature", &WilsonTraces::curvature)
      .def_ro("report", &WilsonTraces::report);
  m.def(
      "wilson_noise_traces",
      [](const WilsonOperator& M, const GaugeField& U, bool is_z2, uint64_t seed, uint64_t stream,
         uint32_t configuration, uint32_t first, int count, bool has_curvature, const SolverSpec& solver) {
        const Noise noise{is_z2 ? NoiseKind::z2 : NoiseKind::z4, seed, stream, configuration, first};
        return wilson_traces(M.matrix(), U, noise_vectors(U.lattice_ptr(), noise, count, U.backend()),
                             has_curvature, solver);
      },
      "operator"_a, "links"_a, "is_z2"_a, "seed"_a, "stream"_a, "configuration"_a, "first"_a, "count"_a,
      "has_curvature"_a, "solver"_a, release_gil());
  m.def("conserved_current_source", conserved_source, "S"_a, "links"_a, "hops"_a, "mu"_a, "momentum"_a,
        "time"_a.none() = nb::none(), release_gil());
  m.def(
      "propagator_as_source",
      [](const Propagator& S, const std::string& gamma, const Momentum& momentum) {
        return with_momentum(propagator_as_source(S, gamma_by_name(gamma)), momentum);
      },
      "S"_a, "gamma"_a, "momentum"_a, release_gil());
  m.def(
      "sink_smeared",
      [](const Propagator& S, const GaugeField& U, double width, int steps) {
        return sink_smeared(S, U, {width, steps});
      },
      "S"_a, "links"_a, "width"_a, "steps"_a, release_gil());
  m.def(
      "propagator_bytes", [](const Lattice& l) { return propagator_bytes(l.geometry()); }, "lattice"_a);
  m.def(
      "propagator_solve_bytes",
      [](const Lattice& l, bool is_even_odd, int work_fields) {
        return propagator_solve_bytes(l.geometry(), is_even_odd, work_fields);
      },
      "lattice"_a, "is_even_odd"_a, "work_fields"_a);
  m.def(
      "meson_bytes", [](const Lattice& l, int momenta) { return meson_bytes(l.geometry(), momenta); },
      "lattice"_a, "momenta"_a);
  m.def(
      "baryon_bytes", [](const Lattice& l, int momenta) { return baryon_bytes(l.geometry(), momenta); },
      "lattice"_a, "momenta"_a);
}
}  // namespace

void bind_measure(nb::module_& m) {
  nb::class_<Source>(m, "Source")
      .def_ro("at", &Source::at)
      .def_ro("description", &Source::description)
      .def_prop_ro("lattice",
                   [](const Source& s) { return std::const_pointer_cast<Lattice>(s.columns.lattice_ptr()); })
      .def_prop_ro("has_spin", [](const Source& s) { return kind_of(s) == SourceKind::spinor; })
      .def_prop_ro("device", [](const Source& s) { return std::string(name_of(s.columns.spec().backend)); });
  m.def(
      "point_source",
      [](const std::shared_ptr<Lattice>& lattice, const Coord& at, bool has_spin, const std::string& device) {
        return point_source(lattice, at, source_kind(has_spin), backend_by_name(device));
      },
      "lattice"_a, "at"_a, "has_spin"_a = true, "device"_a = "cpu");
  m.def(
      "wall_source",
      [](const std::shared_ptr<Lattice>& lattice, int time, const Momentum& n, bool has_spin,
         const std::string& sites, const std::string& device) {
        return wall_source(lattice, time, n, source_kind(has_spin), source_sites(sites),
                           backend_by_name(device));
      },
      "lattice"_a, "time"_a, "momentum"_a, "has_spin"_a = true, "sites"_a = "all", "device"_a = "cpu");
  m.def(
      "smeared_source",
      [](const Source& source, const GaugeField& U, double width, int steps) {
        return smeared(source, U, {width, steps});
      },
      "source"_a, "links"_a, "width"_a, "steps"_a, release_gil());
  m.def("noise_source", noise, "lattice"_a, "kind"_a, "seed"_a, "configuration"_a, "index"_a, "time"_a.none(),
        "has_spin"_a = true, "sites"_a = "all", "device"_a = "cpu", release_gil());
  m.def("with_momentum", &with_momentum, "source"_a, "momentum"_a, release_gil());
  bind_propagator(m);
  m.def("momenta_up_to", &momenta_up_to, "n2_max"_a);
  m.def(
      "require_gamma", [](const std::string& name) { (void)gamma_by_name(name); }, "name"_a);
  m.def("gamma_matrix", gamma_matrix, "name"_a);
  m.def("mesons", mesons, "quark"_a, "antiquark"_a, "pairs"_a, "momenta"_a);
  bind_baryons(m);
  m.def("all_mesons", all_mesons, "quark"_a, "antiquark"_a, "momenta"_a);
}

}  // namespace trellis::bindings
