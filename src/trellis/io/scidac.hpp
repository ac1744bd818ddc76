#pragma once
/// SciDAC (QIO) files have these XML records.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trellis/io/lime.hpp"

namespace trellis::io {

/// It has what is known of a record of binary data from scidac-private-file-xml and
/// scidac-private-record-xml.
struct ScidacRecordInfo {
  std::optional<std::array<int64_t, 4>> dims;
  std::optional<int> precision_bits;
  std::optional<int64_t> bytes_per_site;  ///< it is typesize * datacount
  std::string datatype;
};

/// Reads the private records before records[data] (the last ones, as QIO orders them), or behind it where
/// there are none and no other binary record. Missing records and tags are left open, with a warning those
/// that cannot be understood. Throws FileError for multi-file volumes.
ScidacRecordInfo scidac_record_info(InputFile& file, const std::vector<LimeRecord>& records, int data,
                                    std::vector<std::string>& warnings);

/// Returns the first scidac-binary-data whose record XML states one of these sizes of a site; else the first,
/// or -1 if there is none.
int find_scidac_data(InputFile& file, const std::vector<LimeRecord>& records,
                     const std::vector<int64_t>& bytes_per_site);

/// Returns the stored checksum pair of records[data]: that of the scidac-checksum between it and the next
/// binary record; where records are few and loose, it is that of the only one in the file. Without a record,
/// or with an empty one, there is none, and a warning. Throws FileError if it cannot be understood.
std::optional<std::array<uint32_t, 2>> scidac_checksum(InputFile& file,
                                                       const std::vector<LimeRecord>& records, int data,
                                                       std::vector<std::string>& warnings);

/// Returns types and texts of all short records that are not binary data, with control characters replaced.
std::vector<std::pair<std::string, std::string>> text_records(InputFile& file,
                                                              const std::vector<LimeRecord>& records);

std::string scidac_private_file_xml(const Coord& lattice);
struct ScidacDatum {
  std::string datatype;  ///< it is "QDP_D3_ColorMatrix", say
  int precision_bits, colors, spins;
  int64_t typesize, datacount;
};
std::string scidac_private_record_xml(const ScidacDatum& datum, const std::string& date);
std::string scidac_checksum_xml(uint32_t a, uint32_t b);

}  // namespace trellis::io
