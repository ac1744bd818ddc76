#include "trellis/io/site_field_file.hpp"

#include "trellis/base/build_configuration.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/checksums.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/scidac.hpp"
#include "trellis/io/stored_sites.hpp"
#include "trellis/io/text.hpp"

namespace trellis {

using namespace io;

namespace {
const std::string empty_xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><info></info>";

const std::string& or_empty(const std::string& xml) { return xml.empty() ? empty_xml : xml; }
}  // namespace

namespace {
void require_writable(int64_t reals_per_site, const SiteFieldOptions& options) {
  TRELLIS_REQUIRE(options.precision_bits == 32 || options.precision_bits == 64,
                  "precision must be 32 or 64 bits, got ", options.precision_bits);
  TRELLIS_REQUIRE(reals_per_site > 0, "a site field needs numbers, got ", reals_per_site, " a site");
}

/// Writes the message of one field: its texts, the further records, the numbers and their checksum.
void write_field(LimeWriter& writer, OutputFile& file, const Lattice& lattice, const SiteFieldRecord& record,
                 int64_t reals_per_site, const SiteFieldOptions& options,
                 const std::vector<std::pair<std::string, std::string>>& extra_records) {
  const Geometry& geometry = lattice.geometry();
  const RealFormat format{options.precision_bits, ByteOrder::big};
  const size_t site_bytes = size_t(reals_per_site) * format.bytes();
  const ScidacDatum datum{options.datatype, options.precision_bits, options.colors,
                          options.spins,    int64_t(site_bytes),    1};
  writer.write("scidac-private-record-xml", scidac_private_record_xml(datum, options.date), true, false);
  writer.write("scidac-record-xml", or_empty(record.record_xml), false, false);
  for (const auto& [type, text] : extra_records) writer.write(type, text, false, false);
  const int64_t offset =
      writer.reserve("scidac-binary-data", geometry.volume() * int64_t(site_bytes), false, false);
  ScidacChecksum checksum;
  write_sites(file, offset, geometry, site_bytes, [&](int64_t first, int64_t sites, std::byte* data) {
    for (int64_t i = 0; i < sites; ++i) {
      std::byte* site = data + size_t(i) * site_bytes;
      encode_reals(record.local + (first + i) * reals_per_site, site, size_t(reals_per_site), format);
      checksum.add(site, site_bytes, geometry.global_index(site_coord(first + i, geometry.local())));
    }
  });
  checksum.merge(lattice.communicator());
  writer.write("scidac-checksum", scidac_checksum_xml(checksum.a(), checksum.b()), false, true);
}

void write_file_texts(LimeWriter& writer, const Lattice& lattice, const SiteFieldOptions& options) {
  writer.write("scidac-private-file-xml", scidac_private_file_xml(lattice.geometry().lattice()), true, false);
  const std::string of_program = message("<?xml version=\"1.0\" encoding=\"UTF-8\"?><info><program>Trellis ",
                                         build_configuration::version, "</program></info>");
  writer.write("scidac-file-xml", options.file_xml.empty() ? of_program : options.file_xml, false, true);
}
}  // namespace

void write_site_field(const std::string& path, const Lattice& lattice, const double* local,
                      int64_t reals_per_site, const SiteFieldOptions& options) {
  require_writable(reals_per_site, options);
  const auto file = create_output(path, lattice.communicator());
  LimeWriter writer(*file);
  write_file_texts(writer, lattice, options);
  write_field(writer, *file, lattice, {local, options.record_xml}, reals_per_site, options,
              options.extra_records);
  file->commit(writer.end());
}

void write_site_fields(const std::string& path, const Lattice& lattice,
                       const std::vector<SiteFieldRecord>& records, int64_t reals_per_site,
                       const SiteFieldOptions& options) {
  require_writable(reals_per_site, options);
  TRELLIS_REQUIRE(!records.empty(), "a file of fields needs at least one");
  const auto file = create_output(path, lattice.communicator());
  LimeWriter writer(*file);
  write_file_texts(writer, lattice, options);
  for (const SiteFieldRecord& record : records)
    write_field(writer, *file, lattice, record, reals_per_site, options, {});
  const size_t count = options.extra_records.size();
  for (size_t i = 0; i < count; ++i)
    writer.write(options.extra_records[i].first, options.extra_records[i].second, i == 0, i + 1 == count);
  file->commit(writer.end());
}

namespace {

/// Tells whether a record has the size of such a field on the lattice that it states.
bool is_field_of(const LimeRecord& record, const std::array<int64_t, 4>& dims, const ScidacRecordInfo& info,
                 int64_t reals_per_site) {
  double sites = 1;
  for (const int64_t d : dims) sites *= double(d);
  const auto has_bytes = [&](int bits) {
    return double(record.bytes) == sites * double(reals_per_site) * (bits / 8) &&
           info.precision_bits.value_or(bits) == bits;
  };
  return has_bytes(64) || has_bytes(32);
}

/// Returns the first binary record, from number `from` on, that can hold such a field; fills in precision and
/// datatype. It is -1 if there is none; `found` then says what there is.
int find_field(InputFile& file, const std::vector<LimeRecord>& records, int from, int64_t reals,
               SiteFieldReport& report, std::string& found) {
  for (int i = from; i < int(records.size()); ++i) {
    const LimeRecord& record = records[size_t(i)];
    if (!is_binary_record(record)) continue;
    std::vector<std::string> warnings;
    const ScidacRecordInfo info = scidac_record_info(file, records, i, warnings);
    const Coord& l = report.lattice;
    const bool is_other_lattice = info.dims && *info.dims != std::array<int64_t, 4>{l[0], l[1], l[2], l[3]};
    if (is_other_lattice && is_field_of(record, *info.dims, info, report.reals_per_site))
      throw FileError(message(file.path(), ": expected the lattice ", to_string(l), ", found ",
                              (*info.dims)[0], "x", (*info.dims)[1], "x", (*info.dims)[2], "x",
                              (*info.dims)[3]));
    for (const int bits : {64, 32}) {
      const bool has_size = record.bytes == reals * (bits / 8) && info.precision_bits.value_or(bits) == bits;
      const bool has_datum =
          !info.bytes_per_site || *info.bytes_per_site == report.reals_per_site * (bits / 8);
      if (!has_size || !has_datum || is_other_lattice) continue;
      report.precision_bits = bits;
      report.datatype = info.datatype;
      report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
      return i;
    }
    found += message(found.empty() ? "" : ", ", record.type, " of ", record.bytes, " bytes",
                     info.precision_bits ? message(" in ", *info.precision_bits, " bits") : "");
  }
  return -1;
}

/// Returns the first one of a file; throws FileError if there is none.
int first_field(InputFile& file, const std::vector<LimeRecord>& records, int64_t reals,
                SiteFieldReport& report) {
  std::string found;
  const int data = find_field(file, records, 0, reals, report, found);
  if (data >= 0) return data;
  throw FileError(message(file.path(), ": expected a binary record of ", reals * 8, " bytes in 64 bits or ",
                          reals * 4, " in 32 (", to_string(report.lattice), ", ", report.reals_per_site,
                          " numbers a site), found ", found.empty() ? "none" : found));
}

void throw_if_bad(const std::string& path, const SiteFieldReport& report) {
  for (const ChecksumReport& c : report.checksums)
    if (!c.ok().value_or(true)) {
      throw ChecksumError(message(path, ": checksum ", c.kind, ": expected ", hex(*c.stored), ", found ",
                                  hex(c.computed), joined(report.warnings)));
    }
}

/// Reads the numbers of records[data]; the checksums are added to the report.
void read_field(InputFile& file, const Lattice& lattice, const std::vector<LimeRecord>& records, int data,
                double* local, SiteFieldReport& report) {
  const StoredSites sites{records[size_t(data)].offset,
                          report.reals_per_site,
                          {report.precision_bits, ByteOrder::big},
                          StoredSums::scidac};
  const std::array<uint32_t, 2> computed = read_stored_sites(file, lattice.geometry(), sites, local);
  const auto stored = scidac_checksum(file, records, data, report.warnings);
  const size_t first = report.checksums.size();
  report.checksums.push_back({"scidac_a", std::nullopt, computed[0]});
  report.checksums.push_back({"scidac_b", std::nullopt, computed[1]});
  for (size_t i = 0; stored && i < 2; ++i) report.checksums[first + i].stored = (*stored)[i];
}

/// Returns the text of the scidac-record-xml in front of records[data], or "" if there is none.
std::string text_of_field(InputFile& file, const std::vector<LimeRecord>& records, int data) {
  for (int i = data - 1; i >= 0 && !is_binary_record(records[size_t(i)]); --i)
    if (records[size_t(i)].type == "scidac-record-xml") return record_text(file, records[size_t(i)]);
  return "";
}

}  // namespace

SiteFieldReport read_site_field(InputFile& file, const Lattice& lattice, double* local,
                                int64_t reals_per_site, const ReadOptions& options) {
  SiteFieldReport report;
  const std::vector<LimeRecord> records = scan_lime(file, report.warnings);
  report.lattice = lattice.geometry().lattice();
  report.reals_per_site = reals_per_site;
  const int data = first_field(file, records, lattice.geometry().volume() * reals_per_site, report);
  read_field(file, lattice, records, data, local, report);
  report.metadata = text_records(file, records);
  if (!options.report_only) throw_if_bad(file.path(), report);
  return report;
}

std::vector<SiteFieldContent> read_site_fields(InputFile& file, const Lattice& lattice,
                                               int64_t reals_per_site, SiteFieldReport& report) {
  const std::vector<LimeRecord> records = scan_lime(file, report.warnings);
  report.lattice = lattice.geometry().lattice();
  report.reals_per_site = reals_per_site;
  const int64_t reals = lattice.geometry().volume() * reals_per_site;
  std::vector<SiteFieldContent> fields;
  std::string others;
  for (int data = first_field(file, records, reals, report); data >= 0;
       data = find_field(file, records, data + 1, reals, report, others)) {
    SiteFieldContent field;
    field.local.resize(size_t(lattice.geometry().local_volume() * reals_per_site));
    read_field(file, lattice, records, data, field.local.data(), report);
    field.record_xml = text_of_field(file, records, data);
    fields.push_back(std::move(field));
  }
  report.metadata = text_records(file, records);
  throw_if_bad(file.path(), report);
  return fields;
}

std::vector<SiteFieldContent> read_site_fields(const std::string& path, const Lattice& lattice,
                                               int64_t reals_per_site, SiteFieldReport& report) {
  return read_site_fields(*open_input(path, lattice.communicator()), lattice, reals_per_site, report);
}

SiteFieldReport read_site_field(const std::string& path, const Lattice& lattice, double* local,
                                int64_t reals_per_site, const ReadOptions& options) {
  return read_site_field(*open_input(path, lattice.communicator()), lattice, local, reals_per_site, options);
}

}  // namespace trellis
