#pragma once
/// This file has links stored as [t][z][y][x][mu][row][column][re, im], and the checksums of the formats that
/// do so.
#include "trellis/io/checksums.hpp"
#include "trellis/io/gauge_format.hpp"

namespace trellis::io {

/// Collects the checksums that a format uses, site by site.
class SiteChecksums {
 public:
  SiteChecksums(GaugeFormat format, ByteOrder order) : format_{format}, order_{order} {}
  void add(const std::byte* site, size_t bytes, int64_t global_index);
  /// Merges those of all ranks, in the order of checksum_kinds. It is called once. Collective.
  std::vector<uint32_t> merged(Communicator& communicator);
  /// Returns NERSC's, after merged(), with the words read in the other byte order.
  uint32_t nersc_of_other_order() const { return nersc_swapped_.value(); }

 private:
  GaugeFormat format_;
  ByteOrder order_;
  ScidacChecksum scidac_;
  NerscChecksum nersc_, nersc_swapped_;
  MilcChecksum milc_;
};

std::vector<std::string> checksum_kinds(GaugeFormat format);

/// Decodes one link of 3 or 2 rows to 18 numbers; a missing third row is the conjugate of the cross product.
void decode_link(const std::byte* in, double* link, int rows, RealFormat format);

/// Writes this rank's links at `offset` of the file, and returns the checksums of the whole. Collective.
std::vector<uint32_t> write_site_ordered(OutputFile& file, int64_t offset, const LinksToWrite& links,
                                         int rows, GaugeFormat format);

}  // namespace trellis::io
