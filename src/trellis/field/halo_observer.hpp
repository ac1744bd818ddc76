#pragma once
/// Measurements look at the steps of halos by this: when faces are packed, when they have come, and what the
/// sites between wait for.
#include <functional>

namespace trellis {

enum class HaloStep {
  begins,      ///< the faces are about to be packed
  is_sent,     ///< they are on their way (on a GPU: launched to be)
  is_wanted,   ///< the inner sites are done (on a GPU: launched), and the halo is waited for
  has_come,    ///< the first message is there
  is_unpacked  ///< all messages are there and unpacked
};

/// Every halo of this process calls the observer at each step, on the thread that communicates; an empty one
/// is not called.
void observe_halos(std::function<void(HaloStep)> observer);
/// Calls it. Halos do so.
void tell_halo_observer(HaloStep step);

}  // namespace trellis
