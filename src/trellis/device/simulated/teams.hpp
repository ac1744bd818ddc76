#pragma once
/// This is the launch of kernels for teams on a simulated GPU.
#include <algorithm>

#include "trellis/device/simulated/for_each_site.hpp"
#include "trellis/device/team.hpp"

namespace trellis::launch {
inline namespace on_gpu {

template <class Kernel>
void for_each_site_in_teams(const SiteRange& range, int slots, const Kernel& kernel) {
  cuda::check_launch(range, kernel);
  cuda::simulated::submit(cuda::simulated::launch_queue(), [range, slots, kernel] {
    for (int slot = 0; slot < slots; ++slot)
      for (int first = 0; first < range.size(); first += sites_of_team)
        work_as_team(kernel, std::min(sites_of_team, range.size() - first), slot,
                     [&](int i) { return cuda::site_of(range, first + i); });
  });
}

}  // namespace on_gpu
}  // namespace trellis::launch
