// threads: 4
/// Each thread runs once in a call, whatever calls came before, beside it or inside it.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/cpu/thread_team.hpp"

namespace trellis {
namespace in_test_thread_team {

/// Says how often each thread ran in a call of so many.
std::vector<int> runs_in_a_call(int threads) {
  std::vector<std::atomic<int>> runs(16);
  std::atomic<int> wrong{0};
  cpu::on_threads(threads, [&](int thread, int of) {
    ++runs[size_t(thread)];
    if (of != threads) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  return {runs.begin(), runs.begin() + threads};
}

TEST(ThreadTeam, each_thread_runs_once_whatever_the_number_was_before) {
  for (const int threads : {3, 1, 4, 2, 4, 8, 1, 2})
    EXPECT_EQ(runs_in_a_call(threads), std::vector<int>(size_t(threads), 1)) << threads;
}

TEST(ThreadTeam, thousands_of_calls_with_pauses_in_which_threads_fall_asleep) {
  int64_t total = 0;
  std::vector<int64_t> own(4 * 8, 0);
  for (int call = 0; call < 3000; ++call) {
    if (call % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    cpu::on_threads(4, [&](int thread, int) { own[size_t(8 * thread)] += thread + call; });
    total += 4 * call + 6;
  }
  EXPECT_EQ(own[0] + own[8] + own[16] + own[24], total);
}

TEST(ThreadTeam, a_call_inside_a_call_has_one_thread) {
  std::atomic<int> inner{0}, wrong{0};
  cpu::on_threads(3, [&](int, int) {
    cpu::on_threads(3, [&](int thread, int of) {
      ++inner;
      if (thread != 0 || of != 1) ++wrong;
    });
  });
  EXPECT_EQ(inner, 3);
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadTeam, callers_from_several_threads_do_not_meet) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int call = 0; call < 500; ++call) {
        std::atomic<int> shares{0};
        cpu::on_threads(2, [&](int thread, int of) { shares += thread == 0 ? 3 - of : 1; });
        sum += shares;  // two threads have 1 + 1, one has 2
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 500 * 2);
}

TEST(ThreadTeam, a_fork_has_threads_of_its_own) {
  EXPECT_EQ(runs_in_a_call(2), (std::vector<int>{1, 1}));
  const pid_t child = fork();
  if (child == 0) _exit(runs_in_a_call(3) == std::vector<int>{1, 1, 1} ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(runs_in_a_call(2), (std::vector<int>{1, 1}));
}

/// Starts threads without address space for their stacks, and then with it again. Prints what is said.
[[noreturn]] void start_threads_without_memory() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t small = pages * size_t(sysconf(_SC_PAGESIZE)) + (size_t(1) << 20);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlimit less{small, limit.rlim_max};
  setrlimit(RLIMIT_AS, &less);
  try {
    cpu::on_threads(3, [](int, int) {});
  } catch (const BadArgument& error) {
    std::fprintf(stderr, "%s", error.what());
  }
  setrlimit(RLIMIT_AS, &limit);
  _exit(runs_in_a_call(3) == std::vector<int>{1, 1, 1} ? 0 : 1);
}

TEST(ThreadTeam, threads_that_cannot_be_started_are_said) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer needs address space of its own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the process has no stacks to use again
  EXPECT_EXIT(start_threads_without_memory(), testing::ExitedWithCode(0),
              "expected 3 threads .*found that no more than 1 can be started");
}

}  // namespace in_test_thread_team
}  // namespace trellis
