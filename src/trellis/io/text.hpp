#pragma once
/// Other programs left such text in a file.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>

namespace trellis::io {

/// Returns the same with '?' for every byte that is not ASCII or not printable, newlines and tabs apart:
/// messages and reports can show it.
inline std::string printable(std::string text) {
  for (char& c : text)
    if ((c < ' ' || c > '~') && c != '\n' && c != '\t') c = '?';
  return text;
}

/// Returns eight hexadecimal digits.
inline std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

/// Writes the fewest digits that give the number back.
inline std::string readable(double x) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

/// Does the same to so many digits.
inline std::string readable(double x, int digits) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, x, std::chars_format::general, digits).ptr};
}

}  // namespace trellis::io
