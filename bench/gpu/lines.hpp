#pragma once
/// The programs of the GPU check print this: each result is a JSON object on a line of its own and a row of a
/// Markdown table. tools/gpu_check_run.sh collects the lines that begin with "{", and those that begin with
/// "#" or "|". It includes no header of Trellis but bench/json.hpp: the probe, which nvcc compiles, has this
/// too.
#include <cmath>
#include <string>

#include "bench/json.hpp"

namespace trellis::gpu_check {

/// It has the cells of one result, in the order in which they are added.
class Row {
 public:
  Row& text(const std::string& key, const std::string& value) { return add(key, value, value); }
  Row& count(const std::string& key, long long value) { return add(key, value, std::to_string(value)); }
  /// Adds a number with so many significant digits; it is null in JSON and "-" in the table where it is not
  /// finite.
  Row& number(const std::string& key, double value, int digits = 4) {
    char shown[40];
    std::snprintf(shown, sizeof shown, "%.*g", digits, value);
    return add(key, bench::rounded(value, digits), std::isfinite(value) ? shown : "-");
  }
  /// Adds a number in the JSON object only.
  Row& hidden_number(const std::string& key, double value) {
    object_[key] = bench::rounded(value, 9);
    return *this;
  }

 private:
  friend class Lines;
  Row& add(const std::string& key, const bench::Json& value, const std::string& shown) {
    object_[key] = value;
    // Texts are appended piece by piece: g++ 12 takes sums of such texts for overlapping copies and warns.
    head_.append(" ").append(key).append(" |");
    rule_ += "---|";
    cells_ += ' ';
    for (const char c : shown) cells_ += c == '|' ? '/' : c == '\n' ? ' ' : c;
    cells_ += " |";
    return *this;
  }
  bench::Json object_;
  std::string head_ = "|", rule_ = "|", cells_ = "|";
};

/// It prints the rows of one section, under a new head where their columns change.
class Lines {
 public:
  explicit Lines(std::string section) : section_{std::move(section)} {}

  void print(const Row& row) {
    if (row.head_ != head_)
      std::printf("### %s\n%s\n%s\n", section_.c_str(), row.head_.c_str(), row.rule_.c_str());
    head_ = row.head_;
    bench::Json object = {{"section", section_}};
    object.update(row.object_);
    std::printf("%s\n%s\n", row.cells_.c_str(), bench::line_of(object).c_str());
    std::fflush(stdout);
  }

 private:
  std::string section_, head_;
};

}  // namespace trellis::gpu_check
