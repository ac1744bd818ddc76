#pragma once
/// Whole numbers from environment variables, of which none is cut to the bits of an int.
#include <optional>
#include <string>

namespace trellis {

/// The number that a text is, with blanks around it; none for any other text and for numbers beyond an int.
std::optional<int> whole_number(const std::string& text);

/// The number of an environment variable; none where it is not set, or empty.
/// BadArgument: it is no whole number between these two, which belong to it.
std::optional<int> environment_number(const char* name, int least, int most);

}  // namespace trellis
