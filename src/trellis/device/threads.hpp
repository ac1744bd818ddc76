#pragma once
/// The CPU backend has threads, whose number is set here, and a loop over independent indices (set-up work,
/// conversions).
#include <functional>

namespace trellis {

/// Returns the number of threads that site loops use; at the start it is the environment's OMP_NUM_THREADS.
int thread_count();
/// Returns the number of cores that this process may use: those that its launcher bound it to, or all of the
/// machine's.
int usable_cores();
/// @pre threads >= 1
void set_thread_count(int threads);

/// Calls f(i) for i in [0, n), in parallel. An exception in f is rethrown after the loop.
void for_each_index(int n, const std::function<void(int)>& f);

}  // namespace trellis
