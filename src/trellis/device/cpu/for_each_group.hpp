#pragma once
/// These loops go over groups of sites that share scratch memory. They call f(group, thread), a thread's
/// groups one after the other.
#include <cstdint>

#include "trellis/device/cpu/thread_team.hpp"

namespace trellis::cpu {

template <class F>
void for_each_group(int groups, const F& f) {
  on_threads([&](int thread, int threads) {
    const int end = int(int64_t(groups) * (thread + 1) / threads);
    for (int i = int(int64_t(groups) * thread / threads); i < end; ++i) f(i, thread);
  });
}

}  // namespace trellis::cpu
