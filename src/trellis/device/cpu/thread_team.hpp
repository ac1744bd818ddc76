#pragma once
/// These are the threads of site loops. A pass over a small lattice takes 10 to 50 microseconds, so threads
/// spin for up to a millisecond while they wait for the next one, and sleep at once where they notice that
/// something else wants their core. OpenMP's runtime has a fixed choice of the two: 2+1 flavours on 8^4 took
/// two threads 0.67 s a trajectory with the spinning that is bearable beside other programs, and 0.53 s with
/// that which is not.
#include "trellis/device/threads.hpp"

namespace trellis::cpu {

/// Calls call(data, thread, threads) on each of so many threads, the caller being thread 0; returns when all
/// have. Inside another such call it works on one thread alone; callers on several threads of a program take
/// turns. Throws BadArgument where the system gives fewer threads.
void run_on_threads(void (*call)(const void* data, int thread, int threads), const void* data, int threads);

/// Calls f(thread, threads) on so many threads, as run_on_threads() does; f does not throw.
template <class F>
void on_threads(int threads, const F& f) {
  run_on_threads([](const void* data, int thread, int of) { (*static_cast<const F*>(data))(thread, of); }, &f,
                 threads);
}
/// Does the same on thread_count() of them.
template <class F>
void on_threads(const F& f) {
  on_threads(thread_count(), f);
}

}  // namespace trellis::cpu
