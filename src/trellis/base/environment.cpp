#include "trellis/base/environment.hpp"

#include <charconv>
#include <climits>
#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

std::optional<int> whole_number(const std::string& text) {
  constexpr const char* blanks = " \t\n\r";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return std::nullopt;
  const char* const begin = text.data() + first;
  const char* const end = text.data() + text.find_last_not_of(blanks) + 1;
  int value = 0;
  const auto [stop, code] = std::from_chars(begin, end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<int> environment_number(const char* name, int least, int most) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::optional<int> value = whole_number(text);
  if (value && *value >= least && *value <= most) return value;
  const std::string range =
      most == INT_MAX ? message("from ", least, " on") : message("from ", least, " to ", most);
  throw BadArgument(message(name, ": expected a whole number ", range, ", found ", text));
}

}  // namespace trellis
