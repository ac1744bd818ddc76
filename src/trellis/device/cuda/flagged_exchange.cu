/// GPUs exchange messages with flags, without a hop.
#include "trellis/device/flagged_exchange.hpp"

#include "trellis/device/cuda/fused_launch.cuh"
#include "trellis/device/zero_faces.hpp"

namespace trellis::cuda {

void exchange_with_flags(HaloFlags flags, std::span<const FlaggedMessage> messages) {
  launch_fused<1>(zero_faces_with_flags(flags, messages), threads_per_block);
}

}  // namespace trellis::cuda
