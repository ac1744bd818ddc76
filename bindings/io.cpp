/// Python reads and writes gauge configurations in files here.
#include "bindings.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/io/stored_sites.hpp"

namespace trellis::bindings {

namespace {
nb::dict to_dict(const ChecksumReport& c) {
  nb::dict d;
  d["kind"] = c.kind;
  d["stored"] = c.stored;
  d["computed"] = c.computed;
  d["ok"] = c.ok();
  return d;
}

nb::dict to_dict(const ValueReport& v) {
  nb::dict d;
  d["name"] = v.name;
  d["expected"] = v.expected;
  d["found"] = v.found;
  d["tolerance"] = v.tolerance;
  d["ok"] = v.ok();
  return d;
}

template <class T>
nb::list to_list(const std::vector<T>& reports) {
  nb::list list;
  for (const T& report : reports) list.append(to_dict(report));
  return list;
}

nb::tuple links_and_report(const std::string& path, const Coord& grid, const std::optional<Coord>& lattice,
                           bool report_only) {
  FileReport report;
  auto U = [&] {
    const nb::gil_scoped_release release;
    stop_together(*world());  // ILDG files are read without a sum that would carry a request
    return std::make_shared<GaugeField>(
        read_gauge_field(path, grid, nullptr, {lattice, report_only}, &report));
  }();
  return nb::make_tuple(U, report);
}

/// Returns this rank's numbers [t, z, y, x, number] and the two checksums.
nb::tuple stored_sites(const std::string& path, const Lattice& lattice, int64_t offset,
                       int64_t reals_per_site, int precision_bits, bool is_little_endian,
                       bool has_milc_sums) {
  const Geometry& geometry = lattice.geometry();
  const io::StoredSites sites{offset,
                              reals_per_site,
                              {precision_bits, is_little_endian ? io::ByteOrder::little : io::ByteOrder::big},
                              has_milc_sums ? io::StoredSums::milc : io::StoredSums::scidac};
  auto values = make_array<double>(site_shape(geometry, {size_t(reals_per_site)}));
  const std::array<uint32_t, 2> sums = [&] {
    const nb::gil_scoped_release release;
    return io::read_stored_sites(*io::open_input(path, lattice.communicator()), geometry, sites,
                                 values.data());
  }();
  return nb::make_tuple(values, sums[0], sums[1]);
}
}  // namespace

void bind_io(nb::module_& m) {
  nb::class_<FileReport>(m, "FileReport")
      .def_prop_ro("format", [](const FileReport& r) { return name_of(r.format); })
      .def_ro("lattice", &FileReport::lattice)
      .def_ro("precision_bits", &FileReport::precision_bits)
      .def_prop_ro("checksums", [](const FileReport& r) { return to_list(r.checksums); })
      .def_prop_ro("values", [](const FileReport& r) { return to_list(r.values); })
      .def_ro("warnings", &FileReport::warnings)
      .def_ro("metadata", &FileReport::metadata)
      .def_prop_ro("ok", &FileReport::ok);
  m.def(
      "probe_gauge_file",
      [](const std::string& path, const std::optional<Coord>& lattice) {
        return probe_gauge_file(path, {lattice, false});
      },
      "path"_a, "lattice"_a, release_gil());
  m.def("read_stored_sites", stored_sites, "path"_a, "lattice"_a, "offset"_a, "reals_per_site"_a,
        "precision_bits"_a, "is_little_endian"_a, "has_milc_sums"_a);
  m.def("read_gauge_field", links_and_report, "path"_a, "grid"_a, "lattice"_a, "report_only"_a);
  m.def(
      "write_gauge_field",
      [](const std::string& path, const GaugeField& U, const std::string& format, int precision_bits,
         const std::vector<std::pair<std::string, std::string>>& extra_records, bool is_little_endian,
         const std::string& logical_file_name, const std::string& ensemble_id,
         const std::string& ensemble_label) {
        WriteOptions options;
        options.is_little_endian = is_little_endian;
        options.logical_file_name = logical_file_name;
        options.ensemble_id = ensemble_id;
        options.ensemble_label = ensemble_label;
        options.precision_bits = precision_bits;
        options.extra_records = extra_records;
        write_gauge_field(path, U, gauge_format_by_name(format), options);
      },
      "path"_a, "U"_a, "format"_a, "precision_bits"_a, "extra_records"_a, "is_little_endian"_a = false,
      "logical_file_name"_a = "", "ensemble_id"_a = "", "ensemble_label"_a = "", release_gil());
}

}  // namespace trellis::bindings
