#include "trellis/field/storage/same_links.hpp"

#include <cstring>

#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/gauge/link_distance.hpp"

namespace trellis {

bool has_same_links(const GaugeField& U, const GaugeField& V) {
  if (!U.is_stored_like(V)) return false;
  if (U.backend() == Backend::cuda) {
    double largest = 0;
    dispatch_links(U.site_tables(), [&]<class Layout, class Storage>() {
      largest = launch_link_distance<Layout, Storage>(U.raw(), V.raw(), U.site_tables().inner());
    });
    return U.lattice().communicator().maximum(largest) == 0;
  }
  const size_t link_bytes = size_t(72) * size_t(U.lanes()) * element_bytes(U.precision());
  const char *u = static_cast<const char*>(U.raw().data), *v = static_cast<const char*>(V.raw().data);
  bool same = true;
  for (const int32_t block : U.layout().inner())
    if (std::memcmp(u + size_t(block) * link_bytes, v + size_t(block) * link_bytes, link_bytes) != 0) {
      same = false;
      break;
    }
  return !U.lattice().communicator().any(!same);
}

}  // namespace trellis
