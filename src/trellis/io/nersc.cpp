/// The NERSC archive format has a text header "KEY = VALUE" between BEGIN_HEADER and END_HEADER, then the
/// links.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include "trellis/base/build_configuration.hpp"
#include "trellis/base/error.hpp"
#include "trellis/io/site_ordered.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

using Keys = std::map<std::string, std::string>;

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Returns where the line END_HEADER begins, blanks before it apart, or npos if there is none.
size_t find_end_line(const std::string& text) {
  for (size_t at = text.find("END_HEADER"); at != std::string::npos; at = text.find("END_HEADER", at + 1)) {
    const size_t before = text.find_last_not_of(" \t", at - 1);
    if (at == 0 || before == std::string::npos || text[before] == '\n') return at;
  }
  return std::string::npos;
}

/// Returns the header's text up to and with the line END_HEADER.
std::string header_text(InputFile& file) {
  constexpr int64_t longest = int64_t(1) << 20;
  for (int64_t bytes = 4096;; bytes *= 4) {
    const std::string text = file.read_text(0, std::min({bytes, longest, file.size()}));
    const size_t end = find_end_line(text);
    const size_t newline = end == std::string::npos ? end : text.find('\n', end);
    if (newline != std::string::npos) return text.substr(0, newline + 1);
    if (int64_t(text.size()) == file.size() || int64_t(text.size()) == longest)
      throw FileError(message(file.path(),
                              ": NERSC header: expected a line END_HEADER, found none in the first ",
                              text.size(), " bytes"));
  }
}

/// Tells whether a key decides what the file is, so that two values of it would leave that open.
bool is_decisive(const std::string& key) {
  for (const char* name : {"DIMENSION_", "DATATYPE", "FLOATING_POINT", "CHECKSUM", "PLAQUETTE", "LINK_TRACE"})
    if (key.rfind(name, 0) == 0) return true;
  return false;
}

Keys parse_keys(const std::string& text, const std::string& path) {
  Keys keys;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const size_t equals = line.find('=');
    if (equals != std::string::npos) {
      const std::string key = printable(trimmed(line.substr(0, equals)));
      const std::string value = printable(trimmed(line.substr(equals + 1)));
      const auto [entry, is_new] = keys.try_emplace(key, value);
      if (!is_new && entry->second != value && is_decisive(key))
        throw FileError(
            message(path, ": NERSC header: expected one ", key, ", found ", entry->second, " and ", value));
    }
    at = end + 1;
  }
  return keys;
}

const std::string& required(const Keys& keys, const std::string& key, const std::string& path) {
  const auto found = keys.find(key);
  if (found == keys.end()) throw FileError(message(path, ": NERSC header has no ", key));
  return found->second;
}

/// Returns the text of a value that may be missing, and none where it is empty.
const std::string* stated(const Keys& keys, const std::string& key) {
  const auto found = keys.find(key);
  return found == keys.end() || found->second.empty() ? nullptr : &found->second;
}

template <class Number, class... Base>
Number number(const std::string& text, const std::string& key, const std::string& path, Base... base) {
  Number value{};
  const bool has_prefix = sizeof...(base) > 0 && (text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0);
  const bool has_sign = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* begin = text.data() + (has_prefix ? 2 : has_sign ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value, base...);
  if (error != std::errc{} || end != text.data() + text.size())
    throw FileError(message(path, ": NERSC header: ", key, " should be ",
                            sizeof...(base) > 0 ? "a hexadecimal number of 32 bits" : "a number", ", found '",
                            text, "'"));
  return value;
}

/// Returns the legal value that differs in case at most, with a warning if it does; throws if there is none.
std::string legal_value(const Keys& keys, const std::string& key, const std::vector<std::string>& legal,
                        const std::string& path, FileReport& report) {
  const std::string& text = required(keys, key, path);
  const auto is_same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  std::string list;
  for (const std::string& value : legal) {
    list += (list.empty() ? "" : ", ") + value;
    if (!std::equal(text.begin(), text.end(), value.begin(), value.end(), is_same)) continue;
    if (text != value) report.warnings.push_back(message(key, " = ", text, " is taken for ", value));
    return value;
  }
  throw FileError(
      message(path, ": NERSC header: expected one of ", list, " as ", key, ", found '", text, "'"));
}

void read_floating_point(const Keys& keys, const std::string& path, GaugeFileHeader& header) {
  const std::string text = legal_value(
      keys, "FLOATING_POINT", {"IEEE32BIG", "IEEE32LITTLE", "IEEE32", "IEEE64BIG", "IEEE64LITTLE", "IEEE64"},
      path, header.report);
  header.report.precision_bits = text.rfind("IEEE32", 0) == 0 ? 32 : 64;
  header.order = text.ends_with("BIG") ? ByteOrder::big : ByteOrder::little;
  header.order_is_stated = text.size() > 6;
}

void read_datatype(const Keys& keys, const std::string& path, GaugeFileHeader& header) {
  const std::string text =
      legal_value(keys, "DATATYPE", {"4D_SU3_GAUGE", "4D_SU3_GAUGE_3x3"}, path, header.report);
  header.rows = text == "4D_SU3_GAUGE" ? 2 : 3;
  header.report.format = header.rows == 2 ? GaugeFormat::nersc_two_row : GaugeFormat::nersc;
}

/// A value that is printed with less than this says little: damage may hide behind its last digit.
constexpr double coarsest_digit = 1e-3;

/// Returns a unit of the last printed digit, but at least what single precision in the writer leaves open.
double tolerance_of(const std::string& text, double least) {
  const size_t point = text.find('.'), exponent = text.find_first_of("eE");
  const size_t digits = point == std::string::npos ? 0 : std::min(exponent, text.size()) - point - 1;
  int power = 0;
  if (exponent != std::string::npos) {
    const char* begin =
        text.data() + exponent + (text[std::min(exponent + 1, text.size() - 1)] == '+' ? 2 : 1);
    std::from_chars(begin, text.data() + text.size(), power);
  }
  return std::max(least, std::pow(10.0, power - int(digits)));
}

void read_header_values(const Keys& keys, const std::string& path, FileReport& report) {
  const bool is_single = report.precision_bits == 32;
  const struct {
    const char *key, *name;
    double least;
  } entries[] = {{"PLAQUETTE", "plaquette", is_single ? 1e-5 : 1e-6},
                 {"LINK_TRACE", "link_trace", is_single ? 1e-5 : 1e-6}};
  for (const auto& entry : entries) {
    const std::string* const text = stated(keys, entry.key);
    if (!text)
      report.warnings.push_back(message("the header has no ", entry.key));
    else {
      const double value = number<double>(*text, entry.key, path);
      const double tolerance = tolerance_of(*text, entry.least);
      report.values.push_back({entry.name, value, 0.0, tolerance});
      if (tolerance > coarsest_digit && std::isfinite(value))
        report.warnings.push_back(
            message(entry.key, " = ", *text, " has too few digits to tell whether the links are damaged"));
    }
  }
  for (int mu = 1; mu <= Nd; ++mu) {
    const auto boundary = keys.find(message("BOUNDARY_", mu));
    if (boundary != keys.end() && boundary->second != "PERIODIC")
      report.warnings.push_back(
          message("BOUNDARY_", mu, " is ", boundary->second, "; the links are taken as they are"));
  }
}

/// Checks the size. Bytes after the data are passed over where a checksum can tell that the data are what the
/// header says.
void require_size(const InputFile& file, GaugeFileHeader& header, bool has_checksum) {
  const int64_t expected = header.data_offset + header.data_bytes();
  const std::string text = message("expected ", expected, " bytes for ", to_string(header.report.lattice),
                                   " in ", header.report.precision_bits, " bits, found ", file.size());
  if (file.size() < expected) throw FileError(message(file.path(), " is truncated: ", text));
  if (file.size() == expected) return;
  if (!has_checksum) throw FileError(message(file.path(), ": ", text));
  header.report.warnings.push_back(
      message(text, "; the last ", file.size() - expected, " bytes are passed over"));
}

}  // namespace

GaugeFileHeader inspect_nersc(InputFile& file, const ReadOptions& options) {
  GaugeFileHeader header;
  FileReport& report = header.report;
  const std::string text = header_text(file), first_line = trimmed(text.substr(0, text.find('\n')));
  if (first_line != "BEGIN_HEADER")
    throw FileError(message(file.path(), ": NERSC header: expected a first line BEGIN_HEADER, found '",
                            first_line.substr(0, 40), "'"));
  const std::string& path = file.path();
  const Keys keys = parse_keys(text, path);
  read_datatype(keys, path, header);
  read_floating_point(keys, path, header);
  std::array<int64_t, 4> extents;
  for (int mu = 0; mu < Nd; ++mu) {
    const std::string key = message("DIMENSION_", mu + 1);
    extents[size_t(mu)] = number<int64_t>(required(keys, key, path), key, path);
  }
  report.lattice = checked_lattice(file, extents, int64_t(header.bytes_per_site()));
  require_same_lattice(file, report.lattice, options);
  header.data_offset = int64_t(text.size());
  ChecksumReport checksum{"nersc", std::nullopt, 0};
  if (const std::string* const sum = stated(keys, "CHECKSUM"))
    checksum.stored = number<uint32_t>(*sum, "CHECKSUM", path, 16);
  require_size(file, header, checksum.stored.has_value());
  if (!checksum.stored) report.warnings.emplace_back("the file has no checksum");
  report.checksums.push_back(checksum);
  read_header_values(keys, path, report);
  for (const auto& [key, value] : keys) report.metadata.emplace_back(key, value);
  return header;
}

namespace {
/// Returns the header; its length does not depend on the checksum.
std::string header_of(const LinksToWrite& links, int rows, uint32_t checksum, const WriteOptions& options) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "LINK_TRACE = %.15e\nPLAQUETTE = %.15e\n", links.link_trace,
                links.plaquette);
  char sum[32];
  std::snprintf(sum, sizeof sum, "CHECKSUM = %08x\n", checksum);
  std::string text = "BEGIN_HEADER\nHDR_VERSION = 1.0\n";
  text += rows == 2 ? "DATATYPE = 4D_SU3_GAUGE\n" : "DATATYPE = 4D_SU3_GAUGE_3x3\n";
  text += "STORAGE_FORMAT = 1.0\n";
  for (int mu = 0; mu < Nd; ++mu)
    text += message("DIMENSION_", mu + 1, " = ", links.geometry.lattice()[mu], "\n");
  text += numbers;
  for (int mu = 0; mu < Nd; ++mu) text += message("BOUNDARY_", mu + 1, " = PERIODIC\n");
  text += sum;
  text += "ENSEMBLE_ID = " + options.ensemble_id + "\nENSEMBLE_LABEL = " + options.ensemble_label + "\n";
  text += message("SEQUENCE_NUMBER = 1\nCREATOR = Trellis ", build_configuration::version, "\n");
  if (!options.date.empty()) text += "CREATION_DATE = " + options.date + "\n";
  text += message("FLOATING_POINT = IEEE", links.real_format.bits,
                  links.real_format.order == ByteOrder::big ? "BIG" : "LITTLE", "\nEND_HEADER\n");
  return text;
}
}  // namespace

int64_t write_nersc(OutputFile& file, const LinksToWrite& links, int rows, const WriteOptions& options) {
  for (const std::string* text : {&options.ensemble_id, &options.ensemble_label, &options.date})
    TRELLIS_REQUIRE(text->find_first_of("\r\n=") == std::string::npos, "NERSC header text '", *text,
                    "' must be one line without '='");
  const int64_t offset = int64_t(header_of(links, rows, 0, options).size());
  const auto sums = write_site_ordered(file, offset, links, rows, GaugeFormat::nersc);
  file.write_text(0, header_of(links, rows, sums[0], options));
  return offset + product(links.geometry.lattice()) * Nd * rows * 6 * int64_t(links.real_format.bytes());
}

}  // namespace trellis::io
