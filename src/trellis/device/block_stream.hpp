#pragma once
/// This is memory in the order of blocks. What a stencil takes of one direction or field lies there.
#include <cstddef>
#include <vector>

#include "trellis/device/site_range.hpp"

namespace trellis {

struct BlockStream {
  const void* data = nullptr;  ///< block 0 lies here
  size_t block_bytes = 0;
};

/// Reads the given blocks, one stream after the other, all threads having their shares, so that they lie in
/// the cache that the cores share. (Reads in sequence from one place are what prefetchers are built for: a
/// stencil that takes a little from a dozen places in turn gets half of what memory gives them.)
/// @pre sites are contiguous, in memory of the CPU
void read_streams(const std::vector<BlockStream>& streams, const SiteRange& sites);

}  // namespace trellis
