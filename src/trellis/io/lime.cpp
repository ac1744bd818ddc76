#include "trellis/io/lime.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/io/reals.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

constexpr size_t type_offset = 16, type_bytes = 128;

int64_t padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Reads a header and limits everything by what the file still holds. @pre 144 bytes are there.
LimeRecord parse_header(const InputFile& file, int64_t at, const std::byte* header) {
  const uint32_t magic = load_u32(header, ByteOrder::big);
  if (magic != lime_magic)
    throw FileError(message(file.path(), ": no LIME record at byte ", at, ": expected magic number ", "0x",
                            hex(lime_magic), ", found 0x", hex(magic)));
  const uint32_t version_and_flags = load_u32(header + 4, ByteOrder::big);
  if (version_and_flags >> 16 != 1)
    throw FileError(message(file.path(), ": LIME record at byte ", at, ": expected version 1, found ",
                            version_and_flags >> 16));
  LimeRecord record;
  record.begins_message = (version_and_flags & 0x8000) != 0;
  record.ends_message = (version_and_flags & 0x4000) != 0;
  const char* type = reinterpret_cast<const char*>(header) + type_offset;
  record.type = printable(std::string(type, strnlen(type, type_bytes)));
  record.offset = at + lime_header_bytes;
  const uint64_t bytes = load_u64(header + 8, ByteOrder::big);
  const uint64_t available = uint64_t(file.size() - record.offset);
  if (bytes > available)
    throw FileError(message(file.path(), " is truncated: record '", record.type, "' at byte ", at, " needs ",
                            bytes, " bytes; ", available, " are there"));
  record.bytes = int64_t(bytes);
  return record;
}

/// Tells whether what the file holds from `at` on is neither a record, whole or cut, nor hides one behind
/// damage.
bool is_no_record(InputFile& file, int64_t at) {
  constexpr int64_t most = int64_t(1) << 20;
  std::byte bytes[4];
  store_u32(bytes, lime_magic, ByteOrder::big);
  const std::string magic(reinterpret_cast<const char*>(bytes), sizeof bytes);
  const int64_t there = file.size() - at;
  if (magic.rfind(file.read_text(at, std::min<int64_t>(4, there)), 0) == 0) return false;
  const std::string rest = file.read_text(at, std::min(most, there));
  const std::string of_records[] = {magic, "scidac-checksum", "scidac-private-", "ildg-format",
                                    "binary-data"};
  return std::all_of(std::begin(of_records), std::end(of_records),
                     [&](const std::string& part) { return rest.find(part) == std::string::npos; });
}

std::string about_rest(InputFile& file, int64_t at) {
  const int64_t bytes = file.size() - at;
  std::string begin = file.read_text(at, std::min<int64_t>(40, bytes));
  const bool is_zero = begin.find_first_not_of('\0') == std::string::npos;
  begin = printable(begin);
  std::replace(begin.begin(), begin.end(), '\n', ' ');
  return message("after the last record, from byte ", at, " on, ", bytes,
                 bytes == 1 ? " byte is" : " bytes are", " no LIME record and passed over, beginning with ",
                 is_zero ? "zeros" : "'" + begin + "'");
}

}  // namespace

bool is_binary_record(const LimeRecord& record) {
  return record.type == "ildg-binary-data" || record.type == "scidac-binary-data";
}

std::vector<LimeRecord> scan_lime(InputFile& file, std::vector<std::string>& warnings) {
  std::vector<LimeRecord> records;
  int64_t at = 0;
  while (at < file.size()) {
    if (std::any_of(records.begin(), records.end(), is_binary_record) && is_no_record(file, at)) {
      warnings.push_back(about_rest(file, at));
      break;
    }
    if (file.size() - at < lime_header_bytes)
      throw FileError(message(file.path(), " is truncated: a LIME record's header at byte ", at, " needs ",
                              lime_header_bytes, " bytes; ", file.size() - at, " are there"));
    std::byte header[lime_header_bytes];
    file.read_common(at, lime_header_bytes, header);
    records.push_back(parse_header(file, at, header));
    at = records.back().offset + padded(records.back().bytes);
    if (at > file.size())
      warnings.push_back(
          message("the last record, '", records.back().type, "', is not padded to a multiple of 8 bytes"));
  }
  return records;
}

int find_record(const std::vector<LimeRecord>& records, const std::string& type, size_t from) {
  for (size_t i = from; i < records.size(); ++i)
    if (records[i].type == type) return int(i);
  return -1;
}

std::string record_text(InputFile& file, const LimeRecord& record) {
  constexpr int64_t largest = int64_t(16) << 20;
  if (record.bytes > largest)
    throw FileError(message(file.path(), ": text record '", record.type, "' has ", record.bytes,
                            " bytes, expected at most ", largest));
  std::string text = file.read_text(record.offset, record.bytes);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

int64_t LimeWriter::reserve(const std::string& type, int64_t bytes, bool begins_message, bool ends_message) {
  TRELLIS_REQUIRE(!type.empty() && type.size() < type_bytes, "LIME record type '", type,
                  "' must have 1 to 127 characters");
  std::byte header[lime_header_bytes] = {};
  store_u32(header, lime_magic, ByteOrder::big);
  store_u32(header + 4, 0x10000u | (begins_message ? 0x8000u : 0u) | (ends_message ? 0x4000u : 0u),
            ByteOrder::big);
  store_u64(header + 8, uint64_t(bytes), ByteOrder::big);
  std::memcpy(header + type_offset, type.data(), type.size());
  file_.write_common(end_, header, lime_header_bytes);
  const int64_t data = end_ + lime_header_bytes;
  const std::byte zeros[8] = {};
  file_.write_common(data + bytes, zeros, padded(bytes) - bytes);
  end_ = data + padded(bytes);
  return data;
}

void LimeWriter::write(const std::string& type, const std::string& text, bool begins_message,
                       bool ends_message) {
  const int64_t data = reserve(type, int64_t(text.size()), begins_message, ends_message);
  file_.write_text(data, text);
}

namespace {
/// Tells whether `xml` at `at` is the name `tag`, followed by a delimiter. Accepts a namespace prefix.
bool is_tag(const std::string& xml, size_t at, const std::string& tag) {
  constexpr size_t longest_prefix = 64;  // it also bounds the search
  size_t end = at;
  const size_t last = std::min(xml.size(), at + longest_prefix + tag.size() + 1);
  while (end < last && std::strchr(" \t\r\n/>", xml[end]) == nullptr) ++end;
  if (end == last) return false;
  const size_t colon = xml.rfind(':', end);
  if (colon != std::string::npos && colon >= at) at = colon + 1;
  return end - at == tag.size() && xml.compare(at, tag.size(), tag) == 0;
}
}  // namespace

std::optional<std::string> xml_value(const std::string& xml, const std::string& tag) {
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    if (xml.compare(at, 4, "<!--") == 0) {
      at = xml.find("-->", at + 4);
      if (at == std::string::npos) return std::nullopt;
      continue;
    }
    if (!is_tag(xml, at + 1, tag)) continue;
    size_t begin = xml.find('>', at);
    if (begin == std::string::npos || xml[begin - 1] == '/') return std::nullopt;
    ++begin;
    size_t end = xml.find("</", begin);
    while (end != std::string::npos && !is_tag(xml, end + 2, tag)) end = xml.find("</", end + 2);
    if (end == std::string::npos) return std::nullopt;
    const char* blanks = " \t\r\n";
    const size_t first = xml.find_first_not_of(blanks, begin);
    if (first >= end) return std::string();
    return xml.substr(first, xml.find_last_not_of(blanks, end - 1) - first + 1);
  }
  return std::nullopt;
}

std::optional<int64_t> xml_integer(const std::string& xml, const std::string& tag, const std::string& path) {
  const auto text = xml_value(xml, tag);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const bool has_sign = text->size() > 1 && (*text)[0] == '+' && (*text)[1] != '-';
  const auto [end, error] = std::from_chars(text->data() + has_sign, text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size())
    throw FileError(message(path, ": <", tag, "> should be an integer, found '", *text, "'"));
  return value;
}

std::optional<int64_t> xml_integer_if_readable(const std::string& xml, const std::string& tag,
                                               const std::string& path, const std::string& owner,
                                               std::vector<std::string>& warnings) {
  const auto text = xml_value(xml, tag);
  if (!text) return std::nullopt;
  const size_t sign = text->find_first_of("+-") == 0 ? 1 : 0;
  if (text->size() > sign && text->find_first_not_of("0123456789", sign) == std::string::npos)
    return xml_integer(xml, tag, path);
  warnings.push_back(
      message(owner, ": <", tag, "> should be an integer, found '", printable(text->substr(0, 80)), "'"));
  return std::nullopt;
}

}  // namespace trellis::io
