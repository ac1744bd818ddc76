#pragma once
/// A rank waits here for ranks that work long, without keeping a core busy.
#include "trellis/comm/communicator.hpp"

namespace trellis {

/// Waits as exchange.wait() does. That keeps a core busy in most message-passing libraries; this one asks
/// whether the first `receives` messages have come and sleeps in between, each time an eighth longer, up to a
/// millisecond. So it is late by an eighth of the time that it has waited.
void wait_asleep(Exchange& exchange, int receives);

}  // namespace trellis
