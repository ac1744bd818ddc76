#include "trellis/device/launches.hpp"

#include "trellis/device/threads.hpp"
#include "trellis/view/layout.hpp"

namespace trellis {

bool launches_can_be_cut(Backend backend) { return backend == Backend::cpu; }

bool launches_have_shapes(Backend backend) { return backend == Backend::cuda; }

bool launches_take_own_fields(Backend backend) { return backend == Backend::cuda; }

bool launches_can_sum(Backend backend) { return backend != Backend::cuda; }

bool launches_permute_lanes(Backend backend) { return backend != Backend::cuda; }

int lanes_of_launches(Backend backend, Precision precision, int wish) {
  if (backend != Backend::cpu) return 1;
  return wish == 0 ? default_lanes(precision) : wish;
}

int sites_of_group(Backend backend, int lanes) { return backend == Backend::cpu ? lanes : GpuLayout::warp; }

size_t launch_chunk_bytes(Backend backend) {
  return backend == Backend::cuda ? size_t(32) << 20 : size_t(4) << 20;  // it is less than a GPU's L2 cache
}

}  // namespace trellis
