#pragma once
/// A test can leave out a wait of processes for each other, to see whether the schedules of the queues find
/// it.
#include "trellis/device/peer_memory.hpp"

namespace trellis::cuda::simulated {

void leave_out(PeerWait wait);

}  // namespace trellis::cuda::simulated
