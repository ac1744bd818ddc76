#include "trellis/io/site_field_file.hpp"

#include "trellis/base/error.hpp"
#include "trellis/io/checksums.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/scidac.hpp"
#include "trellis/io/text.hpp"

namespace trellis {

using namespace io;

namespace {
const std::string empty_xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><info></info>";

const std::string& or_empty(const std::string& xml) { return xml.empty() ? empty_xml : xml; }
}  // namespace

void write_site_field(const std::string& path, const Lattice& lattice, const double* local,
                      int64_t reals_per_site, const SiteFieldOptions& options) {
  TRELLIS_REQUIRE(options.precision_bits == 32 || options.precision_bits == 64,
                  "precision must be 32 or 64 bits, got ", options.precision_bits);
  TRELLIS_REQUIRE(reals_per_site > 0, "a site field needs numbers, got ", reals_per_site, " a site");
  const Geometry& geometry = lattice.geometry();
  const RealFormat format{options.precision_bits, ByteOrder::big};
  const size_t site_bytes = size_t(reals_per_site) * format.bytes();
  const auto file = create_output(path, lattice.communicator());
  LimeWriter writer(*file);
  writer.write("scidac-private-file-xml", scidac_private_file_xml(geometry.lattice()), true, false);
  writer.write("scidac-file-xml", or_empty(options.file_xml), false, true);
  const ScidacDatum datum{options.datatype, options.precision_bits, options.colors,
                          options.spins,    int64_t(site_bytes),    1};
  writer.write("scidac-private-record-xml", scidac_private_record_xml(datum, options.date), true, false);
  writer.write("scidac-record-xml", or_empty(options.record_xml), false, false);
  for (const auto& [type, text] : options.extra_records) writer.write(type, text, false, false);
  const int64_t offset =
      writer.reserve("scidac-binary-data", geometry.volume() * int64_t(site_bytes), false, false);
  ScidacChecksum checksum;
  write_sites(*file, offset, geometry, site_bytes, [&](int64_t first, int64_t sites, std::byte* data) {
    for (int64_t i = 0; i < sites; ++i) {
      std::byte* site = data + size_t(i) * site_bytes;
      encode_reals(local + (first + i) * reals_per_site, site, size_t(reals_per_site), format);
      checksum.add(site, site_bytes, geometry.global_index(site_coord(first + i, geometry.local())));
    }
  });
  checksum.merge(lattice.communicator());
  writer.write("scidac-checksum", scidac_checksum_xml(checksum.a(), checksum.b()), false, true);
  file->commit(writer.end());
}

namespace {

/// Whether a record has the size of such a field on the lattice that it states.
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

/// The first binary record that can hold such a field; fills in precision and datatype.
int find_field(InputFile& file, const std::vector<LimeRecord>& records, int64_t reals,
               SiteFieldReport& report) {
  std::string found;
  for (int i = 0; i < int(records.size()); ++i) {
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

}  // namespace

SiteFieldReport read_site_field(InputFile& file, const Lattice& lattice, double* local,
                                int64_t reals_per_site, const ReadOptions& options) {
  const Geometry& geometry = lattice.geometry();
  SiteFieldReport report;
  const std::vector<LimeRecord> records = scan_lime(file, report.warnings);
  report.lattice = geometry.lattice();
  report.reals_per_site = reals_per_site;
  const int data = find_field(file, records, geometry.volume() * reals_per_site, report);
  const RealFormat format{report.precision_bits, ByteOrder::big};
  const size_t site_bytes = size_t(reals_per_site) * format.bytes();
  ScidacChecksum checksum;
  read_sites(file, records[size_t(data)].offset, geometry, site_bytes,
             [&](int64_t first, int64_t sites, const std::byte* bytes) {
               for (int64_t i = 0; i < sites; ++i) {
                 const std::byte* site = bytes + size_t(i) * site_bytes;
                 checksum.add(site, site_bytes,
                              geometry.global_index(site_coord(first + i, geometry.local())));
                 decode_reals(site, local + (first + i) * reals_per_site, size_t(reals_per_site), format);
               }
             });
  checksum.merge(lattice.communicator());
  const auto stored = scidac_checksum(file, records, data, report.warnings);
  report.checksums.push_back({"scidac_a", std::nullopt, checksum.a()});
  report.checksums.push_back({"scidac_b", std::nullopt, checksum.b()});
  for (size_t i = 0; stored && i < 2; ++i) report.checksums[i].stored = (*stored)[i];
  report.metadata = text_records(file, records);
  if (!options.report_only) throw_if_bad(file.path(), report);
  return report;
}

SiteFieldReport read_site_field(const std::string& path, const Lattice& lattice, double* local,
                                int64_t reals_per_site, const ReadOptions& options) {
  return read_site_field(*open_input(path, lattice.communicator()), lattice, local, reals_per_site, options);
}

}  // namespace trellis
