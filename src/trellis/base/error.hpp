#pragma once
/// Errors are exceptions with types. Library code throws these and nothing else; a message names the quantity
/// and prints what was expected and what was found.
#include <complex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace trellis {

/// This is the root of every exception that Trellis throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A caller broke a precondition: an extent is wrong, a name unknown, or a parameter outside its range.
class BadArgument : public Error {
 public:
  using Error::Error;
};

/// A file is not what it should be: it is cut off, or its magic, its size or its header is wrong.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A file was read whole, but its checksum, plaquette or link trace is not the stored one.
class ChecksumError : public FileError {
 public:
  using FileError::FileError;
};

/// A request needs more memory than there is; the message carries both numbers.
class MemoryError : public Error {
 public:
  using Error::Error;
};

/// A number that must be finite is not (NaN or Inf in a field or a global sum), or a sum overflowed.
class NumericError : public Error {
 public:
  using Error::Error;
};

/// The feature exists, but this build or this machine lacks it (MPI, CUDA, an instruction set).
class NotAvailable : public Error {
 public:
  using Error::Error;
};

namespace detail {
/// Prints a number with as many digits, six at least, as it takes to read the same number back: 2.3, not
/// 2.2999999999999998.
void print_number(std::ostringstream& text, double value);

template <class Part>
void print(std::ostringstream& text, const Part& part) {
  if constexpr (std::is_same_v<Part, double>) {
    print_number(text, part);
  } else if constexpr (std::is_same_v<Part, std::complex<double>>) {
    text << '(';
    print_number(text, part.real());
    text << ", ";
    print_number(text, part.imag());
    text << ')';
  } else {
    text << part;
  }
}
}  // namespace detail

/// Joins its arguments into one message: message("lattice extent ", 3, " is odd").
template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream text;
  (detail::print(text, parts), ...);
  return text.str();
}

namespace detail {
[[noreturn]] inline void fail_requirement(const char* condition, const std::string& text) {
  throw BadArgument(text + " [required: " + condition + "]");
}
}  // namespace detail

}  // namespace trellis

/// This is one check for each stated precondition; the remaining arguments are joined into the message.
#define TRELLIS_REQUIRE(condition, ...)                                                                 \
  do {                                                                                                  \
    if (!(condition)) ::trellis::detail::fail_requirement(#condition, ::trellis::message(__VA_ARGS__)); \
  } while (false)
