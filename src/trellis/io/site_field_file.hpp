#pragma once
/// Fields of complex numbers, propagators first of all, lie in SciDAC files (LIME, big-endian, CRC-32 pair),
/// as QIO and Chroma write them. Local data are canonical: [site, x fastest][whatever a site has][re, im],
/// doubles.
#include <string>
#include <utility>
#include <vector>

#include "trellis/field/lattice.hpp"
#include "trellis/io/gauge_file.hpp"

namespace trellis {

struct SiteFieldOptions {
  int precision_bits = 64;           ///< there are 32 or 64
  std::string datatype = "Lattice";  ///< QDP++ calls a field so that has no name of its own
  int colors = 3, spins = 4;
  /// These are the user's: scidac-file-xml (empty: the version of Trellis) and scidac-record-xml.
  std::string file_xml, record_xml;
  std::string date;  ///< no clock is read
  /// These further records (type, text) are written before the data.
  std::vector<std::pair<std::string, std::string>> extra_records;
};

struct SiteFieldReport {
  Coord lattice{0, 0, 0, 0};
  int precision_bits = 64;
  int64_t reals_per_site = 0;
  std::string datatype;
  std::vector<ChecksumReport> checksums;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< these are the text records
};

/// Writes reals_per_site doubles for each site as one record, atomically like io::OutputFile. Collective.
void write_site_field(const std::string& path, const Lattice& lattice, const double* local,
                      int64_t reals_per_site, const SiteFieldOptions& options = {});

/// One of several fields of a file has its numbers and the user's text of its record.
struct SiteFieldRecord {
  const double* local = nullptr;
  std::string record_xml;
};
/// Writes several fields as records of one file, each with a checksum; options.extra_records follow them as a
/// message of their own, which readers of fields pass over, and options.record_xml is not looked at.
/// Collective. @pre records is not empty
void write_site_fields(const std::string& path, const Lattice& lattice,
                       const std::vector<SiteFieldRecord>& records, int64_t reals_per_site,
                       const SiteFieldOptions& options = {});

/// It is a field that was read from a file of several.
struct SiteFieldContent {
  std::vector<double> local;
  std::string record_xml;
};
/// Reads all binary records of that size in the order of the file; binary records of other sizes are passed
/// over. In the report, checksums are those of all of them. Throws as read_site_field(). Collective.
std::vector<SiteFieldContent> read_site_fields(const std::string& path, const Lattice& lattice,
                                               int64_t reals_per_site, SiteFieldReport& report);
/// Does the same from an open file (memory, for example). @pre the lattice has the file's communicator.
std::vector<SiteFieldContent> read_site_fields(io::InputFile& file, const Lattice& lattice,
                                               int64_t reals_per_site, SiteFieldReport& report);

/// Reads the first binary record of that size. Throws FileError where lattice or size differ from what is
/// asked, ChecksumError (unless options.report_only) where the checksum is not the stored one. Collective.
SiteFieldReport read_site_field(const std::string& path, const Lattice& lattice, double* local,
                                int64_t reals_per_site, const ReadOptions& options = {});

/// Does the same from an open file (memory, for example). @pre the lattice has the file's communicator.
SiteFieldReport read_site_field(io::InputFile& file, const Lattice& lattice, double* local,
                                int64_t reals_per_site, const ReadOptions& options = {});

/// A propagator is [site][spin sink][spin source][colour sink][colour source][re, im] (DeGrand-Rossi basis).
inline constexpr int64_t propagator_reals = 4 * 4 * 3 * 3 * 2;

inline void write_propagator(const std::string& path, const Lattice& lattice, const double* local,
                             const SiteFieldOptions& options = {}) {
  write_site_field(path, lattice, local, propagator_reals, options);
}
inline SiteFieldReport read_propagator(const std::string& path, const Lattice& lattice, double* local,
                                       const ReadOptions& options = {}) {
  return read_site_field(path, lattice, local, propagator_reals, options);
}

}  // namespace trellis
