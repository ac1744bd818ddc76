#include "trellis/device/block_stream.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/cpu/walk/read_ahead.hpp"

namespace trellis {

void read_streams(const std::vector<BlockStream>& streams, const SiteRange& sites) {
  TRELLIS_REQUIRE(sites.list == nullptr, "streams are read in contiguous blocks, not those of a list");
  cpu::walk_in_shares(sites, [&](int begin, int end) {
    for (const BlockStream& stream : streams)
      cpu::read_lines(static_cast<const char*>(stream.data) + size_t(begin) * stream.block_bytes,
                      size_t(end - begin) * stream.block_bytes);
  });
}

}  // namespace trellis
