#include "trellis/base/error.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace trellis::detail {

void print_number(std::ostringstream& text, double value) {
  char digits[32];
  for (int precision = 6; precision <= 17; ++precision) {
    std::snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (std::isnan(value) || std::strtod(digits, nullptr) == value) break;
  }
  text << digits;
}

}  // namespace trellis::detail
