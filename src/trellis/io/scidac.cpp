#include "trellis/io/scidac.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "trellis/base/error.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

/// Returns the record of a type that belongs to the binary record `data`: the last one before it; where there
/// is none and the file has no other binary record, the first one behind it. It is -1 if there is none.
int find_beside(const std::vector<LimeRecord>& records, const std::string& type, int data) {
  for (int i = data - 1; i >= 0; --i)
    if (records[size_t(i)].type == type) return i;
  if (std::count_if(records.begin(), records.end(), is_binary_record) > 1) return -1;
  return find_record(records, type, size_t(data));
}

/// Returns four integers where the text has these and nothing else; otherwise it returns nothing.
std::optional<std::array<int64_t, 4>> parse_dims(const std::string& text) {
  std::istringstream words(text);
  std::array<int64_t, 4> dims{};
  std::string more;
  for (int64_t& d : dims) words >> d;
  if (!words || words >> more) return std::nullopt;
  return dims;
}

uint32_t parse_hex(const std::string& text, const std::string& path, const char* what) {
  const size_t prefix = text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0 ? 2 : 0;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + prefix, text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size())
    throw FileError(
        message(path, ": ", what, " should be a hexadecimal number of 32 bits, found '", text, "'"));
  return value;
}

void read_file_xml(const std::string& xml, const std::string& path, ScidacRecordInfo& info,
                   std::vector<std::string>& warnings) {
  const char* const owner = "scidac-private-file-xml";
  const auto volume_format = xml_integer_if_readable(xml, "volfmt", path, owner, warnings);
  if (volume_format && *volume_format != 0)
    throw FileError(message(path, ": expected a single file (volfmt 0), found volfmt ", *volume_format));
  const auto dims = xml_value(xml, "dims");
  if (dims) info.dims = parse_dims(*dims);
  if (dims && !info.dims)
    warnings.push_back(message(owner, ": <dims> should be four integers, found '",
                               printable(dims->substr(0, 80)), "'; passed over"));
}

void read_record_xml(const std::string& xml, const std::string& path, ScidacRecordInfo& info,
                     std::vector<std::string>& warnings) {
  const char* const owner = "scidac-private-record-xml";
  info.datatype = xml_value(xml, "datatype").value_or("");
  const std::string precision = xml_value(xml, "precision").value_or("");
  if (precision == "F") info.precision_bits = 32;
  if (precision == "D") info.precision_bits = 64;
  const auto size = xml_integer_if_readable(xml, "typesize", path, owner, warnings),
             count = xml_integer_if_readable(xml, "datacount", path, owner, warnings);
  constexpr int64_t largest = 1 << 30;
  if (!size || !count) return;
  if (*size < 1 || *count < 1 || *size > largest || *count > largest) {
    warnings.push_back(
        message(owner, ": implausible typesize ", *size, " or datacount ", *count, "; passed over"));
    return;
  }
  info.bytes_per_site = *size * *count;
}

}  // namespace

ScidacRecordInfo scidac_record_info(InputFile& file, const std::vector<LimeRecord>& records, int data,
                                    std::vector<std::string>& warnings) {
  ScidacRecordInfo info;
  const int of_file = find_beside(records, "scidac-private-file-xml", data);
  if (of_file >= 0) read_file_xml(record_text(file, records[size_t(of_file)]), file.path(), info, warnings);
  const int of_record = find_beside(records, "scidac-private-record-xml", data);
  if (of_record >= 0)
    read_record_xml(record_text(file, records[size_t(of_record)]), file.path(), info, warnings);
  return info;
}

int find_scidac_data(InputFile& file, const std::vector<LimeRecord>& records,
                     const std::vector<int64_t>& bytes_per_site) {
  const int first = find_record(records, "scidac-binary-data");
  std::vector<std::string> warnings;  // they belong to the record that is taken, when it is read
  for (int data = first; data >= 0; data = find_record(records, "scidac-binary-data", size_t(data) + 1)) {
    const auto bytes = scidac_record_info(file, records, data, warnings).bytes_per_site;
    if (bytes && std::count(bytes_per_site.begin(), bytes_per_site.end(), *bytes) > 0) return data;
  }
  return first;
}

std::optional<std::array<uint32_t, 2>> scidac_checksum(InputFile& file,
                                                       const std::vector<LimeRecord>& records, int data,
                                                       std::vector<std::string>& warnings) {
  int found = -1, binaries = 0, checksums = 0, only = -1;
  for (int i = 0; i < int(records.size()); ++i) {
    if (is_binary_record(records[size_t(i)])) ++binaries;
    if (records[size_t(i)].type == "scidac-checksum") {
      ++checksums;
      only = i;
    }
  }
  for (int i = data + 1; i < int(records.size()) && found < 0 && !is_binary_record(records[size_t(i)]); ++i)
    if (records[size_t(i)].type == "scidac-checksum") found = i;
  if (found < 0 && binaries == 1 && checksums == 1) found = only;
  const std::string xml = found < 0 ? "" : record_text(file, records[size_t(found)]);
  if (xml.find_first_not_of(" \t\r\n") == std::string::npos) {
    warnings.emplace_back(found < 0 ? "the file has no checksum"
                                    : "the file has no checksum: its scidac-checksum is empty");
    return std::nullopt;
  }
  const auto a = xml_value(xml, "suma"), b = xml_value(xml, "sumb");
  if (!a || !b)
    throw FileError(message(file.path(), ": scidac-checksum should have <suma> and <sumb>, found '",
                            xml.substr(0, 200), "'"));
  return std::array<uint32_t, 2>{parse_hex(*a, file.path(), "<suma>"), parse_hex(*b, file.path(), "<sumb>")};
}

std::vector<std::pair<std::string, std::string>> text_records(InputFile& file,
                                                              const std::vector<LimeRecord>& records) {
  constexpr int64_t longest = 1 << 16;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const LimeRecord& record : records) {
    if (is_binary_record(record) || record.bytes > longest || record.bytes == 0) continue;
    texts.emplace_back(record.type, printable(record_text(file, record)));
  }
  return texts;
}

namespace {
const char* const xml_head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
}

std::string scidac_private_file_xml(const Coord& lattice) {
  return message(xml_head, "<scidacFile><version>1.1</version><spacetime>4</spacetime><dims>", lattice[0],
                 " ", lattice[1], " ", lattice[2], " ", lattice[3],
                 " </dims><volfmt>0</volfmt></scidacFile>");
}

std::string scidac_private_record_xml(const ScidacDatum& datum, const std::string& date) {
  return message(xml_head, "<scidacRecord><version>1.1</version><date>", date,
                 "</date><recordtype>0</recordtype><datatype>", datum.datatype, "</datatype><precision>",
                 datum.precision_bits == 32 ? "F" : "D", "</precision><colors>", datum.colors,
                 "</colors><spins>", datum.spins, "</spins><typesize>", datum.typesize,
                 "</typesize><datacount>", datum.datacount, "</datacount></scidacRecord>");
}

std::string scidac_checksum_xml(uint32_t a, uint32_t b) {
  char text[160];
  std::snprintf(text, sizeof text,
                "%s<scidacChecksum><version>1.0</version><suma>%08x</suma><sumb>%08x</sumb></scidacChecksum>",
                xml_head, a, b);
  return text;
}

}  // namespace trellis::io
