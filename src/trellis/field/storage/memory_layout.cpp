#include "trellis/field/storage/memory_layout.hpp"

#include "trellis/base/error.hpp"
#include "trellis/view/layout.hpp"

namespace trellis {

bool has_lane_blocks(Backend backend) { return backend == Backend::cpu; }

int stored_blocks(Backend backend, int blocks) {
  if (has_lane_blocks(backend)) return blocks;
  return (blocks + GpuLayout::warp - 1) / GpuLayout::warp * GpuLayout::warp;
}

void require_gauge_backend(Backend backend) {
  TRELLIS_REQUIRE(backend != Backend::gpu_emulated, "gauge fields live on the backends cpu and cuda");
}

}  // namespace trellis
