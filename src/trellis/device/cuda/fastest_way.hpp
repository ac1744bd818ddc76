#pragma once
/// Several launches that do the same are tried in turn on GPUs, real and simulated.
#include <typeinfo>

#include "trellis/device/gpu.hpp"
#include "trellis/device/launch_hints.hpp"
#include "trellis/device/launch_trials.hpp"
#include "trellis/device/site_range.hpp"

namespace trellis::launch {
inline namespace on_gpu {

/// All launches by a thread of what Name names that have so many ways share their trials.
template <class Name>
LaunchTrials& trials_on_gpu(int ways) {
  thread_local TrialsByWays trials;
  return trials.of(ways, typeid(Name), cuda::name_of_this_gpu());
}

/// Calls launch(way) in the fastest of several ways, as a trial finds it. @param Name names what is launched
template <class Name, class Storage, class Launch>
void in_fastest_way(const SiteRange& range, int ways, int slots, const WorkingSet& all,
                    const Launch& launch) {
  const LaunchSubject subject{all.bytes, all.geometry, slots, storage_name<Storage>()};
  trials_on_gpu<Name>(ways).launch_in_queue(subject, range.size(), [&](int way, bool is_timed) {
    if (is_timed) cuda::start_launch_timer();
    launch(way);
    return is_timed ? cuda::stop_launch_timer() : 0.0;
  });
}

}  // namespace on_gpu
}  // namespace trellis::launch
