#include "trellis/io/stored_sites.hpp"

namespace trellis::io {

std::array<uint32_t, 2> read_stored_sites(InputFile& file, const Geometry& geometry,
                                          const StoredSites& stored, double* local) {
  const size_t reals = size_t(stored.reals_per_site);
  const size_t site_bytes = reals * stored.format.bytes();
  ScidacChecksum scidac;
  MilcChecksum milc;
  read_sites(
      file, stored.offset, geometry, site_bytes, [&](int64_t first, int64_t sites, const std::byte* bytes) {
        for (int64_t i = 0; i < sites; ++i) {
          const std::byte* site = bytes + size_t(i) * site_bytes;
          const int64_t index = geometry.global_index(site_coord(first + i, geometry.local()));
          if (stored.sums == StoredSums::scidac)
            scidac.add(site, site_bytes, index);
          else
            milc.add(site, site_bytes, index * int64_t(site_bytes / sizeof(uint32_t)), stored.format.order);
          decode_reals(site, local + size_t(first + i) * reals, reals, stored.format);
        }
      });
  if (stored.sums == StoredSums::scidac) {
    scidac.merge(file.communicator());
    return {scidac.a(), scidac.b()};
  }
  milc.merge(file.communicator());
  return {milc.sum29(), milc.sum31()};
}

}  // namespace trellis::io
