#pragma once
/// This file counts the kernels that this process has launched. A launch is one kernel text over one range of
/// sites: it counts once, however it is cut into tiles or time slices on the way, so that the number does not
/// depend on what trials find fastest. Tests hold the costs of operators against it.
#include <atomic>
#include <cstdint>

namespace trellis {

namespace detail {
inline std::atomic<int64_t> launches_so_far{0};
inline thread_local int parts_of_a_launch = 0;
}  // namespace detail

/// Returns the number of launches since the process began.
inline int64_t launches() { return detail::launches_so_far.load(std::memory_order_relaxed); }

/// Counts launches, unless this thread works on a part of one.
inline void count_launches(int count = 1) {
  if (detail::parts_of_a_launch == 0) detail::launches_so_far.fetch_add(count, std::memory_order_relaxed);
}

/// While it lives, what this thread launches is a part of a launch that has been counted.
class PartOfLaunch {
 public:
  PartOfLaunch() { ++detail::parts_of_a_launch; }
  ~PartOfLaunch() { --detail::parts_of_a_launch; }
  PartOfLaunch(const PartOfLaunch&) = delete;
  PartOfLaunch& operator=(const PartOfLaunch&) = delete;
};

}  // namespace trellis
