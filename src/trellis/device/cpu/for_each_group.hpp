#pragma once
/// Loops over groups of sites that share scratch memory: f(group, thread), a thread's groups one after the
/// other.
#include <omp.h>

namespace trellis::cpu {

template <class F>
void for_each_group(int groups, const F& f) {
  if (omp_get_max_threads() == 1) {
    for (int i = 0; i < groups; ++i) f(i, 0);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int i = 0; i < groups; ++i) f(i, omp_get_thread_num());
}

}  // namespace trellis::cpu
