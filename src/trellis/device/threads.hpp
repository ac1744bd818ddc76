#pragma once
/// Threads of the CPU backend: how many, and a loop over independent indices (set-up work, conversions).
#include <functional>

namespace trellis {

/// Threads that site loops use; the environment's OMP_NUM_THREADS at the start.
int thread_count();
/// Cores that this process may use: those that its launcher bound it to, or all of the machine's.
int usable_cores();
/// @pre threads >= 1
void set_thread_count(int threads);

/// f(i) for i in [0, n), in parallel. An exception in f is rethrown after the loop.
void for_each_index(int n, const std::function<void(int)>& f);

}  // namespace trellis
