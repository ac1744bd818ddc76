#include "trellis/device/threads.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/thread_limit.hpp"

namespace trellis {

namespace {
/// Counts the cores of the machine, whichever of them this process may use.
int all_cores() { return std::max(1, int(sysconf(_SC_NPROCESSORS_ONLN))); }

/// The environment's number was looked at, or another one is set in its place.
std::atomic<bool> is_sound{false};
}  // namespace

int most_threads() { return 8 * all_cores(); }

void require_sound_environment() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr || *text == '\0') return;
  std::string rest = text;  // a list as 4,2 has numbers of nested loops, which there are none of
  for (bool is_more = true; is_more;) {
    const size_t comma = rest.find(',');
    const std::optional<int> threads = whole_number(rest.substr(0, comma));
    is_more = comma != std::string::npos;
    rest.erase(0, is_more ? comma + 1 : rest.size());
    if (!threads || *threads < 1 || *threads > most_threads())
      throw BadArgument(message("OMP_NUM_THREADS: expected a whole number from 1 to ", most_threads(),
                                " (this machine has ", all_cores(), " cores), found ", text));
  }
}

int thread_count() {
  if (!is_sound.load(std::memory_order_relaxed)) {
    require_sound_environment();
    is_sound.store(true, std::memory_order_relaxed);
  }
  return omp_get_max_threads();
}

int usable_cores() { return std::max(1, omp_get_num_procs()); }

void set_thread_count(int threads) {
  TRELLIS_REQUIRE(threads >= 1 && threads <= most_threads(), "expected from 1 to ", most_threads(),
                  " threads (this machine has ", all_cores(), " cores), found ", threads);
  omp_set_num_threads(threads);
  is_sound.store(true, std::memory_order_relaxed);
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
