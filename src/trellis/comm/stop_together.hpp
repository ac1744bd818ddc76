#pragma once
/// Loops without global sums have this stop point (base/stop.hpp).
#include "trellis/comm/communicator.hpp"

namespace trellis {

/// Throws Interrupted on every rank if any rank was asked to stop; a step costs one small message.
/// Collective. With a communicator of a part of the ranks it does nothing, as they must not stop alone.
void stop_together(Communicator& communicator);

}  // namespace trellis
