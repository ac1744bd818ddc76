#pragma once
/// The benchmarks print this JSON. The probe of the GPU check, which nvcc compiles, includes this too.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace trellis::bench {

using Json = nlohmann::ordered_json;

/// Returns the value with so many significant digits: those behind them say nothing of a time. Values that
/// are not finite are null in JSON.
inline double rounded(double value, int digits = 6) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return std::strtod(text, nullptr);
}

/// Returns JSON on one line. Bytes that are not UTF-8 are replaced.
inline std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace trellis::bench
