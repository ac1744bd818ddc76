/// Bridge++ text: the links as decimal numbers, one a line, [t][z][y][x][mu][row][column][re, im], and
/// nothing else.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/io/gauge_format.hpp"

namespace trellis::io {

namespace {

constexpr int64_t reals_per_site = 72, block_bytes = int64_t(1) << 20;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/// Calls word(begin, end) for each word of the file, block by block, the same on every rank.
template <class Word>
void for_each_word(InputFile& file, const Word& word) {
  constexpr size_t longest = 64;
  std::string text;  // the rest of the last block, then the next one
  for (int64_t at = 0; at < file.size(); at += block_bytes) {
    const size_t rest = text.size();
    const int64_t bytes = std::min(block_bytes, file.size() - at);
    text += file.read_text(at, bytes);
    const char *begin = text.data(), *const end = begin + text.size();
    const char* p = begin + rest;  // what is left over has no blank
    for (; p != end; ++p) {
      if (is_blank(*p)) {
        if (p != begin) word(begin, p);
        begin = p + 1;
      } else if (!is_of_number(*p) || size_t(p - begin) > longest) {
        throw FileError(message(file.path(),
                                ": expected text with a number a line, found something else near byte ",
                                at + (p - text.data()) - int64_t(rest)));
      }
    }
    text.erase(0, size_t(begin - text.data()));
  }
  if (!text.empty())
    throw FileError(
        message(file.path(), " is truncated: expected a line end after the last number, found '", text, "'"));
}

double parse(const char* begin, const char* end, const std::string& path) {
  double value = 0.0;
  if (*begin == '+') ++begin;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stop != end)
    throw FileError(message(path, ": expected a number, found '", std::string(begin, end), "'"));
  return value;
}

}  // namespace

bool is_bridge_text(InputFile& file) {
  const std::string text = file.read_text(0, std::min<int64_t>(file.size(), 256));
  bool has_digit = false;
  for (const char c : text) {
    if (!is_blank(c) && !is_of_number(c)) return false;
    has_digit = has_digit || (c >= '0' && c <= '9');
  }
  return has_digit;
}

GaugeFileHeader inspect_bridge_text(InputFile& file, const ReadOptions& options) {
  GaugeFileHeader header;
  FileReport& report = header.report;
  report.format = GaugeFormat::bridge_text;
  int64_t count = 0;
  for_each_word(file, [&](const char*, const char*) { ++count; });
  if (count == 0 || count % reals_per_site != 0)
    throw FileError(
        message(file.path(), ": expected a multiple of ", reals_per_site, " numbers, found ", count));
  const int64_t sites = count / reals_per_site;
  const Coord lattice = lattice_without_header(file, sites, options, report);
  report.lattice =
      checked_lattice(file, {lattice[0], lattice[1], lattice[2], lattice[3]}, 2 * reals_per_site);
  if (product(report.lattice) != sites)
    throw FileError(message(file.path(), ": expected ", product(report.lattice) * reals_per_site,
                            " numbers for ", to_string(report.lattice), ", found ", count));
  report.warnings.emplace_back("the format has no checksum");
  return header;
}

void read_bridge_text(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links) {
  int64_t index = 0;
  double* site = nullptr;
  const int64_t expected = product(header.report.lattice) * reals_per_site;
  for_each_word(file, [&](const char* begin, const char* end) {
    if (index == expected) throw FileError(file.path() + " changed while it was read");
    const int64_t k = index % reals_per_site;
    if (k == 0) {
      const Coord x = site_coord(index / reals_per_site, geometry.lattice());
      site = geometry.owns(x) ? links + site_index(geometry.to_local(x), geometry.local()) * reals_per_site
                              : nullptr;
    }
    const double value = parse(begin, end, file.path());
    if (site) site[k] = value;
    ++index;
  });
  if (index != expected) throw FileError(file.path() + " changed while it was read");
}

}  // namespace trellis::io
