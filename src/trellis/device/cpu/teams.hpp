#pragma once
/// This is the launch of kernels for teams in the emulated GPU layout.
#include <algorithm>

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/device/launch_hints.hpp"
#include "trellis/device/team.hpp"

namespace trellis::launch {
inline namespace on_cpu {

template <class Kernel>
void for_each_site_in_teams(const SiteRange& range, int slots, const Kernel& kernel) {
  cpu::for_each_site(SiteRange((range.size() + sites_of_team - 1) / sites_of_team), [&](int team) {
    const int first = range.begin + team * sites_of_team;
    for (int slot = 0; slot < slots; ++slot)
      work_as_team(kernel, std::min(sites_of_team, range.end - first), slot,
                   [&](int i) { return range.list ? range.list[first + i] : first + i; });
  });
}

/// Calls launch(way) in one way after the other: tests see that all have the same bits.
template <class Name, class Storage, class Launch>
void in_fastest_way(const SiteRange&, int ways, int, const WorkingSet&, const Launch& launch) {
  thread_local int launches = 0;
  launch((launches + launches / ways) % ways);  // so that every other launch has all ways, too
  ++launches;
}

}  // namespace on_cpu
}  // namespace trellis::launch
