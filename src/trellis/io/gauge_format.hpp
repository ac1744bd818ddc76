#pragma once
/// The single formats offer this to gauge_file.cpp: they recognise, read the header, read links, write.
#include <array>
#include <optional>
#include <string>

#include "trellis/io/gauge_file.hpp"
#include "trellis/io/reals.hpp"

namespace trellis::io {

/// A link has so many reals, and so have the four links of a site.
inline constexpr size_t link_reals{reals_per_link}, site_reals{gauge_reals};

/// It has a file's header, and says where and how its links are stored.
struct GaugeFileHeader {
  FileReport report;  ///< it has checksums and values as stored; computed and found are filled in by reading
  int64_t data_offset = 0;
  int rows = 3;  ///< so many rows of each link are stored
  ByteOrder order = ByteOrder::big;
  bool order_is_stated = true;
  std::array<bool, 4> extent_is_stated{true, true, true, true};  ///< the file states it, not the caller

  RealFormat real_format() const { return {report.precision_bits, order}; }
  size_t bytes_per_link() const { return size_t(rows) * 6 * real_format().bytes(); }
  size_t bytes_per_site() const { return Nd * bytes_per_link(); }
  int64_t data_bytes() const { return product(report.lattice) * int64_t(bytes_per_site()); }
};

// Each looks at the header only, and throws FileError for what it does not understand. @pre is_x(file)
GaugeFileHeader inspect_lime(InputFile& file, const ReadOptions& options);
GaugeFileHeader inspect_nersc(InputFile& file, const ReadOptions& options);
GaugeFileHeader inspect_milc(InputFile& file, const ReadOptions& options);
GaugeFileHeader inspect_openqcd(InputFile& file, const ReadOptions& options);
GaugeFileHeader inspect_bridge_text(InputFile& file, const ReadOptions& options);

/// Tells whether a file may be openQCD's, which has no magic number: the extents must fit the size of the
/// file. It is true in the other byte order too: refuse_relatives_of_openqcd() tells what such a file is.
bool is_openqcd(InputFile& file);
/// Returns a hint for the message about a file that is nothing else: "" or what is missing. Throws FileError
/// for a file that begins as one of openQCD and is too short.
std::string why_not_openqcd(InputFile& file);
/// Throws FileError for a file of none of the formats, with what was expected and what it may be. @pre 4
/// bytes.
[[noreturn]] void throw_unknown(InputFile& file);
bool is_bridge_text(InputFile& file);

// These read this rank's part into canonical order, [site, x fastest][mu][row][column][re, im], and fill in
// the computed checksums. The site-ordered formats store [t][z][y][x][mu][row][column][re, im].
void read_site_ordered(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links);
void read_openqcd(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links);
void read_ddalphaamg(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links);
void read_bridge_text(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links);

/// Reads the links of a file that begins as openQCD's as if it were DDalphaAMG's: 4 links at each site, x_3
/// fastest, in the order of the extents. Axes keep the names that they have in openQCD's files (t, x, y, z),
/// so that the geometry is the same; the plaquette does not depend on names.
void read_as_ddalphaamg(InputFile& file, const GaugeFileHeader& header, const Geometry& geometry,
                        double* links);
/// Throws FileError if the file, read as openQCD's (links are canonical, U holds the same), is DDalphaAMG's,
/// is openQCD's with other than periodic time, or is big-endian; else adds to the warnings. Collective.
void refuse_relatives_of_openqcd(InputFile& file, GaugeFileHeader& header, const GaugeField& U,
                                 const double* links);
/// Checks extents that the caller gave and that the file does not state: throws FileError if the plaquette
/// says that they stand in another order, and adds a warning if it cannot tell. @pre the links of U are
/// SU(3). Collective.
void check_order_of_extents(InputFile& file, GaugeFileHeader& header, const GaugeField& U);
/// Returns "" or what else numbers of that many bytes would be: links of SU(2), SU(4), SU(5) or SU(6) on so
/// many sites (0: any hypercube).
std::string other_gauge_group(int64_t bytes, int64_t sites);

/// A writer needs this besides the links of this rank.
struct LinksToWrite {
  const Geometry& geometry;
  const double* links;  ///< they are in canonical order
  double plaquette, link_trace;
  RealFormat real_format;
};
// Each writes the whole file and returns its size, for OutputFile::commit.
int64_t write_lime(OutputFile& file, const LinksToWrite& links, bool is_ildg, const WriteOptions& options);
int64_t write_nersc(OutputFile& file, const LinksToWrite& links, int rows, const WriteOptions& options);
int64_t write_milc(OutputFile& file, const LinksToWrite& links, const WriteOptions& options);
int64_t write_openqcd(OutputFile& file, const LinksToWrite& links);

/// Returns extents that can be a lattice here (even, 2 to 2^20) and whose sites at `bytes_per_site` (a lower
/// bound) fit into the file. From then on volumes are safe to multiply and memory is bounded by the file.
/// Throws FileError.
Coord checked_lattice(const InputFile& file, const std::array<int64_t, 4>& extents, int64_t bytes_per_site);
/// Throws FileError if options name another lattice than the file.
void require_same_lattice(const InputFile& file, const Coord& lattice, const ReadOptions& options);
/// Returns the even extent of a hypercube of that many sites, if they are one.
std::optional<int> hypercube_of(int64_t sites);
/// Joins the warnings with "; " before each, for the end of an error's message.
std::string joined(const std::vector<std::string>& warnings);
/// Returns options.lattice or, with a warning, the hypercube of that many sites; throws FileError if there is
/// neither, with `hint` in its text.
Coord lattice_without_header(const InputFile& file, int64_t sites, const ReadOptions& options,
                             FileReport& report, const std::string& hint = "");

}  // namespace trellis::io
