/// MILC version 5 has 24 32-bit words of header in either byte order (magic number, four extents, time stamp
/// of 64 characters, site order, two checksums), then single-precision links. Versions 1 to 4 have 7 words:
/// magic number, four extents, two couplings in single precision (MILC's include/io_lat.h).
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/io/milc.hpp"
#include "trellis/io/site_ordered.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {
constexpr int64_t milc_header_bytes = 96, version_1_header_bytes = 28;
constexpr size_t extents_at = 4, stamp_at = 20, stamp_bytes = 64, order_at = 84, sums_at = 88;

/// Fills in what the rest of a header of version 5 says.
void inspect_version_5(const InputFile& file, const std::byte* bytes, GaugeFileHeader& header) {
  if (const uint32_t site_order = load_u32(bytes + order_at, header.order); site_order != 0)
    throw FileError(
        message(file.path(), ": MILC header: expected site order 0 (natural), found ", site_order));
  header.report.checksums.push_back({"milc_29", load_u32(bytes + sums_at, header.order), 0});
  header.report.checksums.push_back({"milc_31", load_u32(bytes + sums_at + 4, header.order), 0});
  std::string stamp(reinterpret_cast<const char*>(bytes) + stamp_at, stamp_bytes);
  stamp.resize(strnlen(stamp.c_str(), stamp.size()));
  header.report.metadata.emplace_back("time_stamp", printable(stamp));
}
}  // namespace

GaugeFileHeader inspect_milc(InputFile& file, const ReadOptions& options) {
  GaugeFileHeader header;
  FileReport& report = header.report;
  std::byte bytes[milc_header_bytes];
  file.read_common(0, 4, bytes);
  const uint32_t big = load_u32(bytes, ByteOrder::big);
  const bool is_big = big == milc_magic || big == milc_version_1_magic;
  header.order = is_big ? ByteOrder::big : ByteOrder::little;
  const bool is_version_5 = load_u32(bytes, header.order) == milc_magic;
  header.data_offset = is_version_5 ? milc_header_bytes : version_1_header_bytes;
  file.read_common(0, header.data_offset, bytes);
  report.format = GaugeFormat::milc;
  report.precision_bits = 32;
  std::array<int64_t, 4> extents;
  for (size_t mu = 0; mu < Nd; ++mu)
    extents[mu] = int32_t(load_u32(bytes + extents_at + 4 * mu, header.order));
  report.lattice = checked_lattice(file, extents, int64_t(header.bytes_per_site()));
  require_same_lattice(file, report.lattice, options);
  if (is_version_5) inspect_version_5(file, bytes, header);
  const int64_t expected = header.data_offset + header.data_bytes();
  if (file.size() != expected)
    throw FileError(message(file.path(), ": expected ", expected, " bytes for ", to_string(report.lattice),
                            ", found ", file.size()));
  report.metadata.emplace_back("milc_version", is_version_5 ? "5" : "1 to 4");
  if (!is_version_5) report.warnings.emplace_back("MILC files of versions 1 to 4 have no checksum");
  return header;
}

int64_t write_milc(OutputFile& file, const LinksToWrite& links, const WriteOptions& options) {
  const Coord& lattice = links.geometry.lattice();
  const ByteOrder order = links.real_format.order;
  TRELLIS_REQUIRE(options.date.size() < stamp_bytes,
                  "the date of a MILC file has at most 63 characters, got ", options.date.size());
  std::byte header[milc_header_bytes] = {};
  store_u32(header, milc_magic, order);
  for (size_t mu = 0; mu < Nd; ++mu) store_u32(header + 4 + 4 * mu, uint32_t(lattice[mu]), order);
  std::memcpy(header + stamp_at, options.date.data(), options.date.size());
  const auto sums = write_site_ordered(file, milc_header_bytes, links, 3, GaugeFormat::milc);
  store_u32(header + sums_at, sums[0], order);
  store_u32(header + sums_at + 4, sums[1], order);
  file.write_common(0, header, milc_header_bytes);
  return milc_header_bytes + product(lattice) * 288;
}

}  // namespace trellis::io
