/// Gauge fields lie in LIME files as ILDG (ildg-format, ildg-binary-data) and SciDAC (scidac-binary-data).
#include <algorithm>

#include "trellis/base/build_configuration.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/scidac.hpp"
#include "trellis/io/site_ordered.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

/// A site of SU(2) in 32 bits has so many bytes, so that a file of that group is not called truncated.
constexpr int64_t least_bytes_per_site = 128;

std::string list_of_types(const std::vector<LimeRecord>& records) {
  std::string list;
  for (size_t i = 0; i < records.size() && i < 20; ++i) list += (i ? ", " : "") + records[i].type;
  return records.empty() ? "none" : list;
}

/// It has what the XML records say, and who says it; what is missing stays open.
struct Statement {
  std::array<std::optional<int64_t>, 4> extents;
  std::optional<int> precision_bits;
  std::string defect;  ///< it belongs to ildg-format
  std::string lattice_from = "ildg-format", precision_from = "ildg-format";

  int missing_extents() const { return int(std::count(extents.begin(), extents.end(), std::nullopt)); }
};

/// Reads ildg-format. What is missing or cannot be understood is left open: it may be known another way.
Statement read_ildg_format(InputFile& file, const std::vector<LimeRecord>& records,
                           std::vector<std::string>& warnings) {
  Statement statement;
  const int at = find_record(records, "ildg-format");
  if (at < 0) return statement;
  const char *const owner = "ildg-format", *const tags[] = {"lx", "ly", "lz", "lt", "precision"};
  const std::string xml = record_text(file, records[size_t(at)]), &path = file.path();
  const auto field = xml_value(xml, "field");
  if (field && *field != "su3gauge")
    throw FileError(message(path, ": ildg-format: expected field su3gauge, found '", printable(*field),
                            "': only SU(3) links are read"));
  for (size_t mu = 0; mu < Nd; ++mu)
    statement.extents[mu] = xml_integer_if_readable(xml, tags[mu], path, owner, warnings);
  const auto precision = xml_integer_if_readable(xml, tags[Nd], path, owner, warnings);
  if (precision && *precision != 32 && *precision != 64)
    throw FileError(message(path, ": ildg-format: expected precision 32 or 64, found ", *precision));
  if (precision) statement.precision_bits = int(*precision);
  std::string missing;
  for (const char* tag : tags)
    if (!xml_value(xml, tag)) missing += message(missing.empty() ? "<" : ", <", tag, ">");
  if (statement.missing_extents() != 0 || !precision)
    statement.defect = xml.empty()       ? "ildg-format is empty"
                       : missing.empty() ? "ildg-format is incomplete"
                                         : "ildg-format has no " + missing;
  return statement;
}

/// Throws if the lattice is not the one that is stated, as far as it is.
void require_stated(const InputFile& file, const Statement& statement, const std::array<int64_t, 4>& extents,
                    const std::string& owner) {
  for (size_t mu = 0; mu < Nd; ++mu)
    if (statement.extents[mu] && *statement.extents[mu] != extents[mu])
      throw FileError(message(file.path(), ": ", statement.lattice_from, " and ", owner,
                              " give different lattices: ", *statement.extents[mu], " and ", extents[mu],
                              " in direction ", "xyzt"[mu]));
}

/// Adds what the SciDAC records say and refuses contradictions.
void add_scidac(const InputFile& file, const ScidacRecordInfo& info, Statement& statement) {
  if (info.dims) {
    require_stated(file, statement, *info.dims, "scidac-private-file-xml");
    if (statement.missing_extents() != 0) statement.lattice_from = "scidac-private-file-xml";
    for (size_t mu = 0; mu < Nd; ++mu) statement.extents[mu] = (*info.dims)[mu];
  }
  if (!statement.precision_bits && info.precision_bits) {
    statement.precision_bits = info.precision_bits;
    statement.precision_from = "scidac-private-record-xml";
  }
  if (info.bytes_per_site && *info.bytes_per_site != int64_t(site_reals) * 4 &&
      *info.bytes_per_site != int64_t(site_reals) * 8) {
    const std::string other = other_gauge_group(*info.bytes_per_site, 1);
    throw FileError(message(file.path(), ": expected four 3x3 matrices a site (288 or 576 bytes), found ",
                            *info.bytes_per_site, " bytes a site of type '", printable(info.datatype), "'",
                            other.empty() ? "" : ", " + other));
  }
}

/// Adds a single extent that is missing: it follows from the size of the data, where the precision is known.
void add_extent_by_size(const LimeRecord& data, Statement& statement) {
  if (statement.missing_extents() != 1 || !statement.precision_bits) return;
  int64_t sites = data.bytes / (int64_t(site_reals) * (*statement.precision_bits / 8));
  for (const auto& extent : statement.extents) {
    if (!extent) continue;
    if (*extent < 1 || sites % *extent != 0) return;
    sites /= *extent;
  }
  *std::find(statement.extents.begin(), statement.extents.end(), std::nullopt) = sites;
  statement.lattice_from = "the size of the data";
}

void settle_lattice(const InputFile& file, const LimeRecord& data, Statement& statement,
                    const ReadOptions& options, GaugeFileHeader& header) {
  if (!options.lattice) add_extent_by_size(data, statement);
  if (statement.missing_extents() == 0) {
    std::array<int64_t, 4> extents;
    for (size_t mu = 0; mu < Nd; ++mu) extents[mu] = *statement.extents[mu];
    header.report.lattice = checked_lattice(file, extents, least_bytes_per_site);
    require_same_lattice(file, header.report.lattice, options);
    return;
  }
  // L^4 sites in 64 bits are no hypercube in 32 bits (2 is no fourth power), so one reading at most is a
  // hypercube.
  int64_t sites = data.bytes / (int64_t(site_reals) * (statement.precision_bits.value_or(64) / 8));
  if (!statement.precision_bits && !options.lattice && !hypercube_of(sites) && hypercube_of(2 * sites))
    sites *= 2;
  const std::string other = other_gauge_group(data.bytes, 0);
  const std::string hint =
      !other.empty() ? "; it has " + other
      : data.bytes % (int64_t(site_reals) * 4) != 0
          ? message("; its ", data.bytes, " bytes are no whole number of sites with four 3x3 matrices")
          : "";
  const Coord lattice = lattice_without_header(file, sites, options, header.report, hint);
  if (options.lattice)
    for (size_t mu = 0; mu < Nd; ++mu) header.extent_is_stated[mu] = statement.extents[mu].has_value();
  const std::array<int64_t, 4> extents{lattice[0], lattice[1], lattice[2], lattice[3]};
  const std::string owner = options.lattice ? "the caller" : "the size of the data";
  require_stated(file, statement, extents, owner);
  statement.lattice_from = owner;
  header.report.lattice = checked_lattice(file, extents, least_bytes_per_site);
}

void settle_precision(const InputFile& file, const LimeRecord& data, Statement& statement,
                      FileReport& report) {
  const int64_t reals = product(report.lattice) * int64_t(site_reals);
  if (!statement.precision_bits) {
    statement.precision_from = "the size of the data";
    report.precision_bits = data.bytes == reals * 4 ? 32 : 64;
  } else
    report.precision_bits = *statement.precision_bits;
  const int64_t expected = reals * (report.precision_bits / 8);
  if (data.bytes != expected) {
    const std::string other = other_gauge_group(data.bytes, product(report.lattice));
    throw FileError(message(file.path(), ": record '", data.type, "': expected ", expected, " bytes for ",
                            to_string(report.lattice), " links of ", report.precision_bits, " bits, found ",
                            data.bytes, other.empty() ? "" : ", " + other));
  }
  if (!statement.defect.empty())
    report.warnings.push_back(message(statement.defect, "; the lattice comes from ", statement.lattice_from,
                                      ", the precision from ", statement.precision_from));
}

/// Warns of further fields: a file holds one for this reader, and what it passes over may be what somebody
/// wanted.
void warn_of_further_fields(const std::vector<LimeRecord>& records, const LimeRecord& read,
                            std::vector<std::string>& warnings) {
  constexpr int most_named = 5;
  int alike = 0, others = 0;
  std::string list;
  for (const LimeRecord& record : records)
    if (record.type == read.type && record.bytes == read.bytes)
      ++alike;
    else if (is_binary_record(record) && ++others <= most_named)
      list += message(others > 1 ? ", " : "", record.type, " of ", record.bytes, " bytes");
  if (alike > 1)
    warnings.push_back(
        message(alike, " records ", read.type, " of ", read.bytes, " bytes: the first one is read"));
  if (others > most_named) list += message(" and ", others - most_named, " more");
  if (others > 0)
    warnings.push_back(message("the file has further fields, which are not read: ", list,
                               "; the one that is, ", read.type, ", has ", read.bytes, " bytes"));
}

}  // namespace

GaugeFileHeader inspect_lime(InputFile& file, const ReadOptions& options) {
  GaugeFileHeader header;
  FileReport& report = header.report;
  const std::vector<LimeRecord> records = scan_lime(file, report.warnings);
  int data = find_record(records, "ildg-binary-data");
  report.format = data >= 0 ? GaugeFormat::ildg : GaugeFormat::scidac;
  if (data < 0) data = find_scidac_data(file, records, {int64_t(site_reals) * 4, int64_t(site_reals) * 8});
  if (data < 0)
    throw FileError(message(
        file.path(),
        ": expected a LIME record ildg-binary-data or scidac-binary-data, found: ", list_of_types(records)));
  const LimeRecord& record = records[size_t(data)];
  warn_of_further_fields(records, record, report.warnings);
  Statement statement = read_ildg_format(file, records, report.warnings);
  add_scidac(file, scidac_record_info(file, records, data, report.warnings), statement);
  settle_lattice(file, record, statement, options, header);
  settle_precision(file, record, statement, report);
  header.data_offset = record.offset;
  const auto stored = scidac_checksum(file, records, data, report.warnings);
  for (size_t i = 0; i < 2; ++i) {
    report.checksums.push_back({checksum_kinds(report.format)[i], std::nullopt, 0});
    if (stored) report.checksums.back().stored = (*stored)[i];
  }
  report.metadata = text_records(file, records);
  return header;
}

namespace {
std::string ildg_format_xml(const Coord& lattice, int precision_bits) {
  return message(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ildgFormat xmlns=\"http://www.lqcd.org/ildg\" "
      "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
      "xsi:schemaLocation=\"http://www.lqcd.org/ildg/filefmt.xsd\"><version>1.0</version>"
      "<field>su3gauge</field><precision>",
      precision_bits, "</precision><lx>", lattice[0], "</lx><ly>", lattice[1], "</ly><lz>", lattice[2],
      "</lz><lt>", lattice[3], "</lt></ildgFormat>");
}
}  // namespace

/// Writes the file: message 1 is its XML; message 2 has the record's XML, (ILDG) format, data, name,
/// checksum.
int64_t write_lime(OutputFile& file, const LinksToWrite& links, bool is_ildg, const WriteOptions& options) {
  const Coord& lattice = links.geometry.lattice();
  const int bits = links.real_format.bits;
  const int64_t bytes = product(lattice) * int64_t(site_reals) * (bits / 8);
  LimeWriter writer(file);
  writer.write("scidac-private-file-xml", scidac_private_file_xml(lattice), true, false);
  writer.write("scidac-file-xml",
               message("<?xml version=\"1.0\" encoding=\"UTF-8\"?><title>Trellis ",
                       build_configuration::version, " gauge field</title>"),
               false, true);
  const ScidacDatum datum{
      bits == 32 ? "QDP_F3_ColorMatrix" : "QDP_D3_ColorMatrix", bits, 3, 1, bits == 32 ? 72 : 144, 4};
  writer.write("scidac-private-record-xml", scidac_private_record_xml(datum, options.date), true, false);
  writer.write(
      "scidac-record-xml",
      options.user_xml.empty() ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?><info></info>" : options.user_xml,
      false, false);
  for (const auto& [type, text] : options.extra_records) writer.write(type, text, false, false);
  if (is_ildg) writer.write("ildg-format", ildg_format_xml(lattice, bits), false, false);
  const int64_t offset =
      writer.reserve(is_ildg ? "ildg-binary-data" : "scidac-binary-data", bytes, false, false);
  const auto sums =
      write_site_ordered(file, offset, links, 3, is_ildg ? GaugeFormat::ildg : GaugeFormat::scidac);
  if (is_ildg && !options.logical_file_name.empty())
    writer.write("ildg-data-lfn", options.logical_file_name, false, false);
  writer.write("scidac-checksum", scidac_checksum_xml(sums[0], sums[1]), false, true);
  return writer.end();
}

}  // namespace trellis::io
