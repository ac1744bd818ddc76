#pragma once
/// The programs of the GPU check print this: each result is a JSON object on a line of its own and a row of a
/// Markdown table. tools/gpu_check_run.sh collects the lines that begin with "{", and those that begin with
/// "#" or "|". Standard library only: the probe, which nvcc compiles, has it too.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace trellis::gpu_check {

/// A JSON text, quotes and all.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + '"';
}

/// The cells of one result, in the order in which they are added.
class Row {
 public:
  Row& text(const std::string& key, const std::string& value) { return add(key, quoted(value), value, true); }
  Row& count(const std::string& key, long long value) {
    return add(key, std::to_string(value), std::to_string(value), true);
  }
  /// With so many significant digits; null in JSON and "-" in the table where it is not finite.
  Row& number(const std::string& key, double value, int digits = 4) {
    return add(key, formatted(value, digits, "null"), formatted(value, digits, "-"), true);
  }
  /// In the JSON object only.
  Row& hidden_number(const std::string& key, double value) {
    return add(key, formatted(value, 9, "null"), "", false);
  }
  Row& hidden_text(const std::string& key, const std::string& value) {
    return add(key, quoted(value), "", false);
  }

 private:
  friend class Lines;
  struct Cell {
    std::string key, json, shown;
    bool is_shown;
  };
  static std::string formatted(double value, int digits, const char* otherwise) {
    if (!std::isfinite(value)) return otherwise;
    char text[40];
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    return text;
  }
  Row& add(const std::string& key, const std::string& json, const std::string& shown, bool is_shown) {
    cells_.push_back({key, json, shown, is_shown});
    return *this;
  }
  std::vector<Cell> cells_;
};

/// Prints the rows of one section, under a new head where their columns change.
class Lines {
 public:
  explicit Lines(std::string section) : section_{std::move(section)} {}

  void print(const Row& row) {
    std::string json = "{\"section\": " + quoted(section_), head = "|", rule = "|", cells = "|";
    for (const Row::Cell& cell : row.cells_) {
      json += ", " + quoted(cell.key) + ": " + cell.json;
      if (!cell.is_shown) continue;
      // Piece by piece: g++ 12 takes sums of such texts for overlapping copies and warns.
      head.append(" ").append(cell.key).append(" |");
      rule += "---|";
      cells.append(" ").append(in_table(cell.shown)).append(" |");
    }
    if (head != head_) std::printf("### %s\n%s\n%s\n", section_.c_str(), head.c_str(), rule.c_str());
    head_ = head;
    std::printf("%s\n%s}\n", cells.c_str(), json.c_str());
    std::fflush(stdout);
  }

 private:
  static std::string in_table(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '|' ? '/' : c == '\n' ? ' ' : c;
    return out;
  }
  std::string section_, head_;
};

}  // namespace trellis::gpu_check
