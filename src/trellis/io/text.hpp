#pragma once
/// Text that other programs left in a file.
#include <string>

namespace trellis::io {

/// The same with '?' for every byte that is not ASCII or not printable, newlines and tabs apart: messages and
/// reports can show it.
inline std::string printable(std::string text) {
  for (char& c : text)
    if ((c < ' ' || c > '~') && c != '\n' && c != '\t') c = '?';
  return text;
}

}  // namespace trellis::io
