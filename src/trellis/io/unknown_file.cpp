/// This file says of files that are none of the gauge formats what was expected and what they may be.
#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/milc.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

const struct {
  std::string begin;
  const char* what;
} known_begins[] = {
    {"\x89HDF\r\n\x1a\n", "an HDF5 file (tr.read_propagator reads propagators of Trellis)"},
    {"\x1f\x8b", "compressed by gzip: unpack it first"},
    {"BZh", "compressed by bzip2: unpack it first"},
    {"\xfd"
     "7zXZ",
     "compressed by xz: unpack it first"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"},
    {"PK\x03\x04", "a zip archive: unpack it first"},
    {"<?xml", "an XML text"},
};

std::string hint(const std::string& begin) {
  for (const auto& known : known_begins)
    if (begin.rfind(known.begin, 0) == 0) return message(", ", known.what);
  if (printable(begin) != begin && begin.find('\r') == std::string::npos) return "";
  const std::string line = printable(begin.substr(0, std::min(begin.find_first_of("\r\n"), size_t(40))));
  return message(", a text that begins with '", line, "'");
}

}  // namespace

void throw_unknown(InputFile& file) {
  std::byte bytes[4];
  file.read_common(0, sizeof bytes, bytes);
  const uint32_t big = load_u32(bytes, ByteOrder::big), little = load_u32(bytes, ByteOrder::little);
  for (const uint32_t magic : {big, little}) {
    if (magic == milc_1996_magic)
      throw FileError(file.path() + " is a MILC file of 1996 (only versions 1 to 5 are read)");
  }
  throw FileError(message(file.path(), " is no gauge file that is known: expected ILDG or SciDAC (LIME), ",
                          "NERSC, MILC (versions 1 to 5), openQCD or Bridge++ text, found ", file.size(),
                          " bytes that begin with ", "0x", hex(big),
                          hint(file.read_text(0, std::min<int64_t>(256, file.size()))),
                          why_not_openqcd(file)));
}

}  // namespace trellis::io
