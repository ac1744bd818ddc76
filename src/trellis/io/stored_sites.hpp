#pragma once
/// This file reads fields of numbers that lie in a file as [t][z][y][x][whatever a site has], from any byte
/// on, with the two checksums of their formats.
#include <array>

#include "trellis/io/checksums.hpp"
#include "trellis/io/parallel_file.hpp"

namespace trellis::io {

/// Checksums are those of SciDAC, over the sites' bytes, or those of MILC, over words of 32 bits.
enum class StoredSums { scidac, milc };

struct StoredSites {
  int64_t offset = 0;  ///< it is where the first site's bytes begin
  int64_t reals_per_site = 0;
  RealFormat format;
  StoredSums sums = StoredSums::scidac;
};

/// Reads this rank's sites into local, [site, x fastest][number], and returns the checksums of the whole, a
/// and b or sum29 and sum31. Throws FileError if the file ends before. Collective.
std::array<uint32_t, 2> read_stored_sites(InputFile& file, const Geometry& geometry,
                                          const StoredSites& stored, double* local);

}  // namespace trellis::io
