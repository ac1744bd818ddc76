#include "trellis/io/gauge_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/lime.hpp"
#include "trellis/io/link_checks.hpp"
#include "trellis/io/milc.hpp"
#include "trellis/io/text.hpp"

namespace trellis {

namespace {
constexpr struct {
  GaugeFormat format;
  const char* name;
} format_names[] = {{GaugeFormat::ildg, "ildg"},
                    {GaugeFormat::scidac, "scidac"},
                    {GaugeFormat::nersc, "nersc"},
                    {GaugeFormat::nersc_two_row, "nersc-2row"},
                    {GaugeFormat::milc, "milc"},
                    {GaugeFormat::openqcd, "openqcd"},
                    {GaugeFormat::ddalphaamg, "ddalphaamg"},
                    {GaugeFormat::bridge_text, "bridge-text"}};

bool is_only_read(GaugeFormat format) {
  return format == GaugeFormat::ddalphaamg || format == GaugeFormat::bridge_text;
}
}  // namespace

const char* name_of(GaugeFormat format) {
  for (const auto& entry : format_names)
    if (entry.format == format) return entry.name;
  throw BadArgument(message("no gauge format has the number ", int(format)));
}

GaugeFormat gauge_format_by_name(const std::string& name) {
  std::string legal;
  for (const auto& entry : format_names) {
    if (name == entry.name) return entry.format;
    if (!is_only_read(entry.format)) legal += std::string(legal.empty() ? "" : ", ") + entry.name;
  }
  throw BadArgument(message("unknown gauge format '", name, "'; legal are ", legal));
}

std::optional<bool> ChecksumReport::ok() const {
  if (!stored) return std::nullopt;
  return *stored == computed;
}

bool FileReport::ok() const {
  return std::all_of(checksums.begin(), checksums.end(),
                     [](const auto& c) { return c.ok().value_or(true); }) &&
         std::all_of(values.begin(), values.end(), [](const auto& v) { return v.ok(); });
}

namespace io {

namespace {

/// Recognises the format by content; the links are not touched.
GaugeFileHeader inspect(InputFile& file, const ReadOptions& options) {
  if (file.size() == 0) throw FileError(file.path() + " is empty: expected a gauge field");
  if (is_bridge_text(file)) return inspect_bridge_text(file, options);
  if (file.size() < 4)
    throw FileError(
        message(file.path(), " is truncated: expected a gauge field, found ", file.size(), " bytes"));
  std::byte bytes[4];
  file.read_common(0, 4, bytes);
  const uint32_t big = load_u32(bytes, ByteOrder::big), little = load_u32(bytes, ByteOrder::little);
  constexpr uint32_t text_begin = 0x42454749;  // "BEGI"
  if (big == lime_magic) return inspect_lime(file, options);
  if (little == lime_magic)
    throw FileError(file.path() + ": expected a big-endian LIME file, found the other byte order");
  if (big == text_begin) return inspect_nersc(file, options);
  for (const uint32_t magic : {big, little})
    if (magic == milc_magic || magic == milc_version_1_magic) return inspect_milc(file, options);
  if (is_openqcd(file)) return inspect_openqcd(file, options);
  throw_unknown(file);
}

void read_links(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links) {
  switch (header.report.format) {
    case GaugeFormat::openqcd:
      return read_openqcd(file, header, geometry, links);
    case GaugeFormat::ddalphaamg:
      return read_ddalphaamg(file, header, geometry, links);
    case GaugeFormat::bridge_text:
      return read_bridge_text(file, header, geometry, links);
    default:
      return read_site_ordered(file, header, geometry, links);
  }
}

/// Fills in what was found for the header's values and adds the unitarity of the links. Returns whether they
/// are SU(3).
bool check_values(FileReport& report, const GaugeField& U) {
  const double violation = unitarity_violation(U);
  for (ValueReport& value : report.values) {
    // Garbage may be too large to sum; then nothing is found.
    if (!(violation < 1e6))
      value.found = std::numeric_limits<double>::quiet_NaN();
    else
      value.found = value.name == "plaquette" ? plaquette(U) : link_trace(U);
  }
  report.values.push_back({"unitarity", 0.0, violation, unitarity_tolerance});
  const bool is_good = report.values.back().ok();
  const bool has_checksum = std::any_of(report.checksums.begin(), report.checksums.end(),
                                        [](const ChecksumReport& c) { return c.stored.has_value(); });
  constexpr double rounding_of_64_bits = 1e-10;  // it has room for what drifts in long runs
  if (is_good && !has_checksum && report.precision_bits == 64 && violation > rounding_of_64_bits)
    report.warnings.push_back(
        message("numbers of 64 bits that are SU(3) to ", readable(violation, 2),
                " only: converted from 32 bits, or a damaged file; it has no checksum"));
  return is_good;
}

/// Throws on all ranks alike, as all have the same report.
void throw_if_bad(const std::string& path, const FileReport& report) {
  const std::string warnings = joined(report.warnings);
  for (const ChecksumReport& c : report.checksums)
    if (!c.ok().value_or(true))
      throw ChecksumError(message(path, ": checksum ", c.kind, ": expected ", hex(*c.stored), ", found ",
                                  hex(c.computed), warnings));
  for (const ValueReport& v : report.values) {
    if (v.ok()) continue;
    if (v.name == "unitarity")
      throw FileError(message(path, ": links are not SU(3): expected |U U^dagger - 1| and |det U - 1| below ",
                              readable(v.tolerance, 2), ", found ",
                              std::isfinite(v.found) ? readable(v.found) : "a NaN or infinity", warnings));
    throw ChecksumError(message(path, ": ", v.name, ": expected ", readable(v.expected),
                                " as in the header, found ", readable(v.found), " (tolerance ",
                                readable(v.tolerance, 2), ")", warnings));
  }
}

}  // namespace
}  // namespace io

FileReport probe_gauge_file(io::InputFile& file, const ReadOptions& options) {
  return io::inspect(file, options).report;
}

FileReport read_gauge_field(io::InputFile& file, GaugeField& U, const ReadOptions& options) {
  io::GaugeFileHeader header = io::inspect(file, options);
  FileReport& report = header.report;
  if (report.lattice != U.geometry().lattice())
    throw FileError(message(file.path(), ": expected the lattice ", to_string(U.geometry().lattice()),
                            ", found ", to_string(report.lattice)));
  std::vector<double> links(U.canonical_size());
  io::read_links(file, header, U.geometry(), links.data());
  U.from_canonical(links.data());
  const bool are_links_good = io::check_values(report, U);
  if (report.format == GaugeFormat::openqcd && (!report.ok() || header.order == io::ByteOrder::big))
    io::refuse_relatives_of_openqcd(file, header, U, links.data());
  if (!are_links_good)
    io::explain_bad_links(file, header, U.geometry(), links.data());
  else if (report.ok())
    io::check_order_of_extents(file, header, U);
  if (!options.report_only) io::throw_if_bad(file.path(), report);
  return std::move(report);
}

FileReport probe_gauge_file(const std::string& path, const ReadOptions& options,
                            CommunicatorPtr communicator) {
  if (!communicator) communicator = world();
  return probe_gauge_file(*io::open_input(path, *communicator), options);
}

FileReport read_gauge_field(const std::string& path, GaugeField& U, const ReadOptions& options) {
  ReadOptions with_lattice = options;
  if (!with_lattice.lattice) with_lattice.lattice = U.geometry().lattice();
  return read_gauge_field(*io::open_input(path, U.lattice().communicator()), U, with_lattice);
}

GaugeField read_gauge_field(const std::string& path, Coord grid, CommunicatorPtr communicator,
                            const ReadOptions& options, FileReport* report) {
  if (!communicator) communicator = world();
  const auto file = io::open_input(path, *communicator);
  const FileReport probed = probe_gauge_file(*file, options);
  GaugeField U(make_lattice(probed.lattice, grid, communicator));
  FileReport full = read_gauge_field(*file, U, options);
  if (report) *report = std::move(full);
  return U;
}

namespace {
io::RealFormat real_format_of(GaugeFormat format, const WriteOptions& options) {
  const bool has_32 = format != GaugeFormat::openqcd, has_64 = format != GaugeFormat::milc;
  const int bits = options.precision_bits != 0 ? options.precision_bits : has_64 ? 64 : 32;
  TRELLIS_REQUIRE((bits == 32 && has_32) || (bits == 64 && has_64), "format ", name_of(format),
                  " cannot hold links of ", bits, " bits");
  const bool has_choice =
      format == GaugeFormat::nersc || format == GaugeFormat::nersc_two_row || format == GaugeFormat::milc;
  TRELLIS_REQUIRE(!options.is_little_endian || has_choice, "format ", name_of(format),
                  " has one byte order only");
  return {bits, options.is_little_endian ? io::ByteOrder::little : io::ByteOrder::big};
}

/// openQCD has lattices with even extents alone, and its files hold the links by odd sites.
void require_extents_of(GaugeFormat format, const Coord& lattice) {
  const bool has_one = std::find(lattice.begin(), lattice.end(), 1) != lattice.end();
  TRELLIS_REQUIRE(format != GaugeFormat::openqcd || !has_one, "format ", name_of(format),
                  " holds lattices with even extents, found ", to_string(lattice),
                  "; write another format, like ildg");
}
}  // namespace

void write_gauge_field(const std::string& path, const GaugeField& U, GaugeFormat format,
                       const WriteOptions& options) {
  TRELLIS_REQUIRE(!is_only_read(format), "files of the format ", name_of(format), " are read, not written");
  const io::RealFormat real_format = real_format_of(format, options);
  require_extents_of(format, U.geometry().lattice());
  std::vector<double> links(U.canonical_size());
  U.to_canonical(links.data());
  const double mean_plaquette = plaquette(U), mean_link_trace = link_trace(U);
  if (!std::isfinite(mean_plaquette) || !std::isfinite(mean_link_trace))
    throw NumericError(message("not writing ", path, ": the field's plaquette is ", mean_plaquette,
                               ", its link trace ", mean_link_trace));
  const double violation = unitarity_violation(U);
  if (!(violation <= io::unitarity_tolerance)) {
    const std::string bad = io::describe_bad_links(U.lattice().communicator(), U.geometry(), links.data());
    throw NumericError(message("not writing ", path, ": expected links that are SU(3) to ",
                               io::unitarity_tolerance, ", found ", io::readable(violation, 3),
                               bad.empty() ? "" : "; ", bad));
  }
  const io::LinksToWrite to_write{U.geometry(), links.data(), mean_plaquette, mean_link_trace, real_format};
  const auto file = io::create_output(path, U.lattice().communicator());
  int64_t bytes = 0;
  switch (format) {
    case GaugeFormat::nersc:
    case GaugeFormat::nersc_two_row:
      bytes = io::write_nersc(*file, to_write, format == GaugeFormat::nersc ? 3 : 2, options);
      break;
    case GaugeFormat::milc:
      bytes = io::write_milc(*file, to_write, options);
      break;
    case GaugeFormat::openqcd:
      bytes = io::write_openqcd(*file, to_write);
      break;
    default:
      bytes = io::write_lime(*file, to_write, format == GaugeFormat::ildg, options);
  }
  file->commit(bytes);
}

}  // namespace trellis
