#pragma once
/// These functions read whole numbers from environment variables, and cut none to the bits of an int.
#include <optional>
#include <string>

namespace trellis {

/// Returns the number that a text is, with blanks around it, and nothing for any other text and for numbers
/// beyond an int.
std::optional<int> whole_number(const std::string& text);

/// Returns the number of an environment variable, and nothing where it is not set, or empty. Throws
/// BadArgument where it is no whole number between these two, which belong to the range.
std::optional<int> environment_number(const char* name, int least, int most);

}  // namespace trellis
