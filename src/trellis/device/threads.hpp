#pragma once
/// Threads of the CPU backend: how many, and a loop over independent indices (set-up work, conversions).
#include <cstddef>
#include <functional>

namespace trellis {

/// Threads that site loops use; the environment's OMP_NUM_THREADS at the start.
int thread_count();
/// @pre threads >= 1
void set_thread_count(int threads);

/// While it lives, site loops use no more threads than there are 32 KB in a field: a smaller share saves a
/// thread less than it takes to read what the others have just written. (Staggered CG in float on 8^4, 48 KB:
/// 52 us an iteration with one thread and with two; in double, 96 KB, 102 and 67.)
class ThreadsForField {
 public:
  explicit ThreadsForField(size_t field_bytes);
  ~ThreadsForField();
  ThreadsForField(const ThreadsForField&) = delete;
  ThreadsForField& operator=(const ThreadsForField&) = delete;

 private:
  int before_;
};

/// f(i) for i in [0, n), in parallel. An exception in f is rethrown after the loop.
void for_each_index(int n, const std::function<void(int)>& f);

}  // namespace trellis
