#include "trellis/comm/stop_together.hpp"

#include "trellis/base/stop.hpp"

namespace trellis {

void stop_together(Communicator& communicator) {
  if (communicator.size() != world()->size()) return;
  if (communicator.any(take_stop_request())) agree_to_stop();
  stop_point();
}

}  // namespace trellis
