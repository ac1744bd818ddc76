#pragma once
/// Gauge configurations lie in files: one reader finds the format by itself, and there is one writer.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trellis/field/gauge_field.hpp"
#include "trellis/io/parallel_file.hpp"

namespace trellis {

/// doc/formats.md describes them. nersc has 3x3 links, nersc_two_row leaves out the third row.
enum class GaugeFormat { ildg, scidac, nersc, nersc_two_row, milc, openqcd, ddalphaamg, bridge_text };

/// Returns "ildg", "scidac", "nersc", "nersc-2row", "milc", "openqcd", "ddalphaamg" or "bridge-text".
const char* name_of(GaugeFormat format);
/// Throws BadArgument with the legal names.
GaugeFormat gauge_format_by_name(const std::string& name);

/// A checksum of the data as stored is "scidac_a", "scidac_b", "nersc", "milc_29" or "milc_31".
struct ChecksumReport {
  std::string kind;
  std::optional<uint32_t> stored;  ///< it is empty where the file has none
  uint32_t computed = 0;
  std::optional<bool> ok() const;  ///< it is empty where the file has none
};

/// It has a number that the file's header gives, or a property that links must have, beside what was found.
/// The name is "plaquette", "link_trace" (stored in the header, in conventions.md's normalisation), or
/// "unitarity".
struct ValueReport {
  std::string name;
  double expected = 0.0, found = 0.0, tolerance = 0.0;
  bool ok() const { return std::abs(found - expected) <= tolerance; }  ///< it is false for NaN
};

/// It says what a file is and whether it is sound.
struct FileReport {
  GaugeFormat format = GaugeFormat::ildg;
  Coord lattice{0, 0, 0, 0};  ///< these are x, y, z, t
  int precision_bits = 64;    ///< stored numbers have so many bits; text counts as 64
  std::vector<ChecksumReport> checksums;
  std::vector<ValueReport> values;
  std::vector<std::string> warnings;
  /// The file's header has these texts: NERSC keys, or LIME record types ("ildg-data-lfn", "xlf-info", ...).
  std::vector<std::pair<std::string, std::string>> metadata;
  bool ok() const;  ///< it says that no check failed (missing checksums do not count)
};

struct ReadOptions {
  /// Files that do not say it (Bridge++ text, LIME without XML) have this lattice. Where the file says it, it
  /// must agree.
  std::optional<Coord> lattice;
  /// Bad checksums, header values and links that are not SU(3) are reported, not thrown.
  bool report_only = false;
};

/// Reads format, lattice, precision, stored checksums and header texts, but no links. Throws FileError if the
/// format is not recognised or the file has the wrong size or header. Collective.
FileReport probe_gauge_file(const std::string& path, const ReadOptions& options = {},
                            CommunicatorPtr communicator = nullptr);

/// Reads into U, each rank its own part. Throws FileError as above and where the lattice is not that of U or
/// links are not SU(3) to 1e-4, ChecksumError where a checksum, plaquette or link trace is not the stored
/// one. Links are kept as stored, never re-unitarised. A missing checksum is a warning. Collective.
FileReport read_gauge_field(const std::string& path, GaugeField& U, const ReadOptions& options = {});

/// Does the same onto a new lattice over the ranks of `communicator`, cut by `grid` (see make_lattice).
GaugeField read_gauge_field(const std::string& path, Coord grid = {0, 0, 0, 0},
                            CommunicatorPtr communicator = nullptr, const ReadOptions& options = {},
                            FileReport* report = nullptr);

/// Does the same for an open file (memory, for example).
FileReport probe_gauge_file(io::InputFile& file, const ReadOptions& options = {});
FileReport read_gauge_field(io::InputFile& file, GaugeField& U, const ReadOptions& options = {});

struct WriteOptions {
  int precision_bits = 0;         ///< it is 32 or 64; with 0 it is 64, or what the format has
  bool is_little_endian = false;  ///< NERSC and MILC take it; the others have one byte order
  std::string logical_file_name;  ///< ILDG has it in the record ildg-data-lfn
  std::string ensemble_id;        ///< NERSC has it
  std::string ensemble_label;     ///< NERSC has it
  std::string date;      ///< NERSC, SciDAC and MILC have it; no clock is read: equal fields give equal files
  std::string user_xml;  ///< it is SciDAC's record XML
  /// ILDG and SciDAC files get these further records (type, text) before the data.
  std::vector<std::pair<std::string, std::string>> extra_records;
};

/// Writes under a temporary name, synchronises, renames (see io::OutputFile). Throws BadArgument if the
/// format lacks the precision or cannot be written (ddalphaamg, bridge_text), FileError if the disk is full,
/// NumericError where links are not finite or, as on reading, not SU(3) to 1e-4. Collective; the bytes do not
/// depend on the number of ranks.
void write_gauge_field(const std::string& path, const GaugeField& U, GaugeFormat format,
                       const WriteOptions& options = {});

}  // namespace trellis
