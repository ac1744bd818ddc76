#pragma once
/// LIME files are made of typed records, grouped in messages. Each record is a header of 144 bytes, all
/// big-endian (magic, version 1, flags: message begin 0x80, message end 0x40, length of 64 bits, type of up
/// to 127 characters), then its data, padded with zeros to a multiple of 8.
#include <optional>
#include <string>
#include <vector>

#include "trellis/io/parallel_file.hpp"

namespace trellis::io {

inline constexpr uint32_t lime_magic = 0x456789ab;
inline constexpr int64_t lime_header_bytes = 144;

struct LimeRecord {
  std::string type;
  int64_t offset = 0;  ///< it is where the data begin
  int64_t bytes = 0;   ///< the data have so many, without padding
  bool begins_message = false;
  bool ends_message = false;
};

/// Returns the table of contents. Throws FileError, naming record, expected and found, for a wrong magic
/// number, version or length and for a file that ends inside a record. Unknown types and any order of message
/// flags are accepted. A last record that is not padded is accepted with a warning, and so are bytes behind a
/// record of binary data that are no record and hide none.
std::vector<LimeRecord> scan_lime(InputFile& file, std::vector<std::string>& warnings);

bool is_binary_record(const LimeRecord& record);  ///< it is ildg-binary-data or scidac-binary-data

/// Returns the first record of a type at or after position `from`, or -1 where there is none.
int find_record(const std::vector<LimeRecord>& records, const std::string& type, size_t from = 0);

/// Returns the text of a record, without trailing zeros. Refuses more than 16 MiB.
std::string record_text(InputFile& file, const LimeRecord& record);

/// Writes records one after the other.
class LimeWriter {
 public:
  explicit LimeWriter(OutputFile& file) : file_{file} {}
  /// Writes a whole record.
  void write(const std::string& type, const std::string& text, bool begins_message, bool ends_message);
  /// Writes header and padding of a record whose data the caller writes at the returned offset.
  int64_t reserve(const std::string& type, int64_t bytes, bool begins_message, bool ends_message);
  int64_t end() const { return end_; }

 private:
  OutputFile& file_;
  int64_t end_ = 0;
};

/// Returns the text between <tag ...> and </tag>, surrounding blanks removed, and nothing where the tag is
/// missing. The tag's namespace prefix is ignored. This is enough for the flat headers of ILDG and SciDAC.
std::optional<std::string> xml_value(const std::string& xml, const std::string& tag);
/// Returns the same as an integer; throws FileError("PATH: ...") when the text is no integer.
std::optional<int64_t> xml_integer(const std::string& xml, const std::string& tag, const std::string& path);
/// Does the same for what may be known another way: a text that is no integer is a warning, "OWNER: <tag>
/// ...". Integers beyond 64 bits throw.
std::optional<int64_t> xml_integer_if_readable(const std::string& xml, const std::string& tag,
                                               const std::string& path, const std::string& owner,
                                               std::vector<std::string>& warnings);

}  // namespace trellis::io
