#include "trellis/device/threads.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "trellis/base/error.hpp"
#include "trellis/device/cpu/thread_team.hpp"

namespace trellis {

int thread_count() { return omp_get_max_threads(); }

int usable_cores() { return std::max(1, omp_get_num_procs()); }

void set_thread_count(int threads) {
  TRELLIS_REQUIRE(threads >= 1, "thread count ", threads, " must be at least 1");
  omp_set_num_threads(threads);
}

void for_each_index(int n, const std::function<void(int)>& f) {
  std::exception_ptr failure;
  std::mutex one_at_a_time;
  const auto run = [&](int thread, int threads) {
    const int end = int(int64_t(n) * (thread + 1) / threads);
    for (int i = int(int64_t(n) * thread / threads); i < end; ++i) {
      try {
        f(i);
      } catch (...) {
        const std::lock_guard lock(one_at_a_time);
        failure = std::current_exception();
      }
    }
  };
  if (n > 1)
    cpu::on_threads(run);
  else
    run(0, 1);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace trellis
