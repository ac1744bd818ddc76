/// Bridge++ text has the links as decimal numbers, one a line, [t][z][y][x][mu][row][column][re, im], and
/// nothing else but comment lines (#).
#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "trellis/base/error.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

constexpr int64_t block_bytes = int64_t(1) << 20;
constexpr size_t longest_word = 64;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_fortran_exponent(char c) { return c == 'd' || c == 'D'; }
bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E' ||
         is_fortran_exponent(c);
}

[[noreturn]] void throw_no_number(const InputFile& file, int64_t line, const char* begin, const char* end) {
  throw FileError(message(file.path(), ": line ", line, ": expected a number, found '",
                          printable(std::string(begin, end)), "'"));
}

/// It is what stands in the file besides the numbers.
struct Notes {
  int64_t comments = 0;
  std::string unended;  ///< it is the last number, where no line end follows it
};

/// Calls word(begin, end, line) for each word of at most 64 characters outside comment lines, block by block,
/// the same on every rank.
template <class Word>
Notes for_each_word(InputFile& file, const Word& word) {
  Notes notes;
  int64_t line = 1;
  bool is_comment = false, is_line_begin = true;
  std::string text;  // it has the rest of the last block, then the next one
  for (int64_t at = 0; at < file.size(); at += block_bytes) {
    const size_t rest = text.size();
    text += file.read_text(at, std::min(block_bytes, file.size() - at));
    const char *begin = text.data(), *const end = begin + text.size();
    const char* p = begin + rest;  // what is left over has no blank
    for (; p != end; ++p) {
      if (is_comment || is_blank(*p)) {
        if (!is_comment && p != begin) {
          word(begin, p, line);
          is_line_begin = false;
        }
        begin = p + 1;
        if (*p != '\n') continue;
        ++line;
        is_comment = false;
        is_line_begin = true;
      } else if (*p == '#' && p == begin && is_line_begin) {
        is_comment = true;
        ++notes.comments;
        begin = p + 1;
      } else if (size_t(p - begin) >= longest_word) {
        throw_no_number(file, line, begin, p);
      }
    }
    text.erase(0, size_t(begin - text.data()));
  }
  if (!text.empty()) word(text.data(), text.data() + text.size(), line);
  notes.unended = printable(text);
  return notes;
}

double parse(const InputFile& file, int64_t line, const char* begin, const char* end) {
  char digits[longest_word + 1];
  const char* const last =
      std::transform(begin, end, digits, [](char c) { return is_fortran_exponent(c) ? 'e' : c; });
  double value = 0.0;
  const auto [stop, error] = std::from_chars(digits + (*begin == '+' ? 1 : 0), last, value);
  if (error != std::errc{} || stop != last) throw_no_number(file, line, begin, end);
  return value;
}

/// Tells whether a word is nan or inf, which some programs print for numbers that are none.
bool is_no_finite_number(std::string word) {
  if (word.find_first_of("+-") == 0) word.erase(0, 1);
  for (char& c : word) c = char(std::tolower(static_cast<unsigned char>(c)));
  return word == "nan" || word == "inf" || word == "infinity";
}

}  // namespace

/// Tells whether the file is such text: more than half of the words in its first lines are numbers (nan and
/// inf among them), comments apart. The others are named with their lines when the numbers are counted.
bool is_bridge_text(InputFile& file) {
  constexpr int64_t longest = 4096;
  std::string text = file.read_text(0, std::min(file.size(), longest));
  const bool is_text =
      std::all_of(text.begin(), text.end(), [](char c) { return is_blank(c) || (c >= ' ' && c <= '~'); });
  if (!is_text) return false;
  std::istringstream lines(text);
  int numbers = 0, others = 0;
  for (std::string line, word; std::getline(lines, line);) {
    std::istringstream words(line);
    for (bool is_first = true; words >> word; is_first = false) {
      if (is_first && word[0] == '#') break;
      const bool is_number = std::all_of(word.begin(), word.end(), is_of_number) &&
                             word.find_first_of("0123456789") != std::string::npos;
      ++(is_number || is_no_finite_number(word) ? numbers : others);
    }
  }
  return numbers > others;
}

GaugeFileHeader inspect_bridge_text(InputFile& file, const ReadOptions& options) {
  GaugeFileHeader header;
  FileReport& report = header.report;
  report.format = GaugeFormat::bridge_text;
  int64_t count = 0;
  bool has_fortran_exponents = false;
  const Notes notes = for_each_word(file, [&](const char* begin, const char* end, int64_t line) {
    if (!std::all_of(begin, end, is_of_number)) throw_no_number(file, line, begin, end);
    has_fortran_exponents = has_fortran_exponents || std::any_of(begin, end, is_fortran_exponent);
    ++count;
  });
  if (count == 0 || count % int64_t(site_reals) != 0)
    throw FileError(
        message(file.path(), ": expected a multiple of ", int64_t(site_reals), " numbers, found ", count));
  const int64_t sites = count / int64_t(site_reals);
  const Coord lattice = lattice_without_header(file, sites, options, report);
  if (options.lattice) header.extent_is_stated.fill(false);
  report.lattice =
      checked_lattice(file, {lattice[0], lattice[1], lattice[2], lattice[3]}, 2 * int64_t(site_reals));
  if (product(report.lattice) != sites)
    throw FileError(message(file.path(), ": expected ", product(report.lattice) * int64_t(site_reals),
                            " numbers for ", to_string(report.lattice), ", found ", count));
  report.warnings.emplace_back("the format has no checksum");
  if (notes.comments != 0)
    report.warnings.push_back(message("comment lines (#) are passed over: ", notes.comments));
  if (has_fortran_exponents) report.warnings.emplace_back("numbers have Fortran's exponents (D)");
  if (!notes.unended.empty())
    report.warnings.push_back(
        message("no line end follows the last number, '", notes.unended, "', which may be cut"));
  return header;
}

void read_bridge_text(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links) {
  int64_t index = 0;
  double* site = nullptr;
  const int64_t expected = product(header.report.lattice) * int64_t(site_reals);
  for_each_word(file, [&](const char* begin, const char* end, int64_t line) {
    if (index == expected) throw FileError(file.path() + " changed while it was read");
    const int64_t k = index % int64_t(site_reals);
    if (k == 0) {
      const Coord x = site_coord(index / int64_t(site_reals), geometry.lattice());
      site = geometry.owns(x)
                 ? links + site_index(geometry.to_local(x), geometry.local()) * int64_t(site_reals)
                 : nullptr;
    }
    const double value = parse(file, line, begin, end);
    if (site) site[k] = value;
    ++index;
  });
  if (index != expected) throw FileError(file.path() + " changed while it was read");
}

}  // namespace trellis::io
