#include "trellis/device/cpu/thread_team.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"

namespace trellis::cpu {

namespace {

constexpr int turns_between_looks = 32;  // so many turns take a microsecond or two; then the clock is read
// These are seconds.
constexpr double awake = 1e-3;  // a thread without work stays awake so long where cores are free
constexpr double awake_if_shared = 2e-5;
constexpr double preempted = 3e-4;  // so long between two looks says that something else had the core
constexpr double believed = 1e-2;   // so long it is believed that cores are shared

/// From this time on, cores are no longer taken for shared with other programs.
std::atomic<double> shared_until{0};
/// There are more threads than cores that this process may use.
std::atomic<bool> is_crowded{false};

void believe_shared(double now) { shared_until.store(now + believed, std::memory_order_relaxed); }

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until is_over() or for as long as that is worth it, and returns whether it is over. `is_due` says
/// that what is awaited is being worked on, so that a long wait says that a core has something else to do.
template <class IsOver>
bool wait_awake(const IsOver& is_over, bool is_due) {
  double begin = 0, last = 0;
  for (bool is_first = true;; is_first = false) {
    for (int i = 0; i < turns_between_looks; ++i) {
      if (is_over()) return true;
      pause();
    }
    const double now = seconds_now();
    if (is_first) {
      begin = last = now;
      continue;
    }
    const bool is_shared =
        is_crowded.load(std::memory_order_relaxed) || now < shared_until.load(std::memory_order_relaxed);
    if (now - last > preempted) {
      believe_shared(now);
      return is_over();
    }
    last = now;
    if (now - begin > (is_shared ? awake_if_shared : awake)) {
      if (is_due) believe_shared(now);
      return is_over();
    }
  }
}

/// Sleeps while the number is `value`, until woken (or now and then without reason).
void sleep_while(std::atomic<uint32_t>& number, uint32_t value) {
#if defined(__linux__)
  syscall(SYS_futex, &number, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#else
  number.wait(value);
#endif
}
void wake_all(std::atomic<uint32_t>& number) {
#if defined(__linux__)
  syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
  number.notify_all();
#endif
}

/// Keeps a thread in its place where OMP_PROC_BIND or OMP_PLACES ask for it; the first one is in its own
/// since the program began.
void bind(int thread) {
#if defined(__linux__)
  if (omp_get_proc_bind() == omp_proc_bind_false || omp_get_num_places() == 0) return;
  const int places = omp_get_num_places(), threads = std::max(1, thread_count());
  const bool is_spread = omp_get_proc_bind() == omp_proc_bind_spread && threads < places;
  const int place = is_spread ? int(int64_t(thread) * places / threads) : thread % places;
  std::vector<int> cores(size_t(omp_get_place_num_procs(place)));
  omp_get_place_proc_ids(place, cores.data());
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) CPU_SET(core, &mask);
  sched_setaffinity(0, sizeof(mask), &mask);
#endif
}

/// This thread works for a team, or waits for one.
thread_local bool is_inside = false;

class ThreadTeam {
 public:
  ThreadTeam() = default;
  ~ThreadTeam() {
    is_ending_ = true;
    announce();
    for (std::thread& worker : workers_) worker.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  void run(void (*call)(const void*, int, int), const void* data, int threads) {
    while (int(workers_.size()) < threads - 1) {
      const int thread = int(workers_.size()) + 1;
      try {
        workers_.emplace_back([this, thread, seen = round_.load()] { work(thread, seen); });
      } catch (const std::system_error& error) {
        throw BadArgument(message("expected ", threads, " threads (OMP_NUM_THREADS, or threads of the run), ",
                                  "found that no more than ", thread, " can be started: ", error.what()));
      }
      is_crowded.store(int(workers_.size()) >= usable_cores());
    }
    call_ = call;
    data_ = data;
    threads_ = threads;
    unfinished_.store(uint32_t(workers_.size()), std::memory_order_relaxed);
    announce();
    call(data, 0, threads);
    const auto is_over = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
    if (wait_awake(is_over, true)) return;
    caller_sleeps_.store(true);  // this comes before the last look
    for (uint32_t left = unfinished_.load(); left > 0; left = unfinished_.load())
      sleep_while(unfinished_, left);
    caller_sleeps_.store(false);
  }

 private:
  void announce() {
    round_.fetch_add(1);
    if (sleeping_.load() > 0) wake_all(round_);
  }

  void work(int thread, uint32_t seen) {
    bind(thread);
    is_inside = true;
    for (;;) {
      const auto is_over = [&] { return round_.load(std::memory_order_acquire) != seen; };
      while (!wait_awake(is_over, false)) {
        sleeping_.fetch_add(1);  // this comes before the last look, so that announce() knows of it
        if (round_.load() == seen) sleep_while(round_, seen);
        sleeping_.fetch_sub(1);
      }
      ++seen;
      if (is_ending_) return;
      if (thread < threads_) call_(data_, thread, threads_);
      if (unfinished_.fetch_sub(1) == 1 && caller_sleeps_.load()) wake_all(unfinished_);
    }
  }

  alignas(64) std::atomic<uint32_t> round_{0};  // it counts calls; workers wait for the next one
  std::atomic<int> sleeping_{0};
  void (*call_)(const void*, int, int) = nullptr;
  const void* data_ = nullptr;
  int threads_ = 1;
  std::atomic<bool> is_ending_{false};
  alignas(64) std::atomic<uint32_t> unfinished_{0};  // it counts workers that are not through with this call
  std::atomic<bool> caller_sleeps_{false};
  std::vector<std::thread> workers_;
};

std::mutex team_in_use;

/// Returns the team of this process. A fork has none of its parent's threads: it starts with a team of its
/// own.
ThreadTeam*& team() {
  static ThreadTeam* the_team = nullptr;
  return the_team;
}
struct TeamAtExit {
  ~TeamAtExit() {
    delete team();
    team() = nullptr;
  }
};

void forget_team() {
  team() = nullptr;
  new (&team_in_use) std::mutex;  // another thread of the parent may have held it
}

}  // namespace

void run_on_threads(void (*call)(const void*, int, int), const void* data, int threads) {
  if (threads == 1 || is_inside) return call(data, 0, 1);
  const std::lock_guard lock(team_in_use);
  if (team() == nullptr) {
    static const int at_fork = pthread_atfork(nullptr, nullptr, forget_team);
    static const TeamAtExit at_exit;
    (void)at_fork;
    team() = new ThreadTeam;
  }
  struct Inside {
    Inside() { is_inside = true; }
    ~Inside() { is_inside = false; }
  } const inside;
  team()->run(call, data, threads);
}

}  // namespace trellis::cpu
