/// This program measures what lines cost that go from one core to another and back. README.md beside this
/// file has the numbers.
///
///   lab_two_ranks_lines [--rounds N]
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/options.hpp"
#include "trellis/device/memory.hpp"

namespace trellis::lab {
namespace {

/// A core does this with lines that it has read and that another core wrote.
enum class After { nothing, writes };

constexpr size_t line = 64;
constexpr int warm_turns = 100, turns = 2000;

/// Two cores exchange messages of one length in turns here, each through two slots of its own, as halos do.
class TwoCores {
 public:
  explicit TwoCores(size_t bytes) : bytes_{bytes} {
    for (Side& side : sides_)
      for (Memory* memory : {&side.slots[0], &side.slots[1], &side.own}) *memory = Memory(bytes);
  }
  /// It has the microseconds to write and to read a message.
  struct Cost {
    double write, read;
  };
  Cost run(After after) {
    for (Side& side : sides_) side.sent = 0;
    Cost costs[2];
    std::thread other([&] { costs[1] = exchange(1, after); });
    costs[0] = exchange(0, after);
    other.join();
    return {std::max(costs[0].write, costs[1].write), std::max(costs[0].read, costs[1].read)};
  }

 private:
  struct alignas(128) Side {
    std::atomic<int> sent;
    Memory slots[2], own;
  };
  static void stay_on(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  }
  Cost exchange(int side, After after) {
    stay_on(side);
    Side &own = sides_[side], &other = sides_[1 - side];
    double write = 0, read = 0;
    for (int turn = 1; turn <= warm_turns + turns; ++turn) {
      if (turn == warm_turns) write = read = 0;
      const double begin = bench::now();
      std::memcpy(own.slots[turn % 2].data(), own.own.data(), bytes_);
      own.sent.store(turn, std::memory_order_release);
      const double written = bench::now();
      for (int spins = 0; other.sent.load(std::memory_order_acquire) < turn; ++spins)
        if (spins > 500) sched_yield();
      const double arrived = bench::now();
      char* const message = static_cast<char*>(other.slots[turn % 2].data());
      std::memcpy(own.own.data(), message, bytes_);
      if (after == After::writes)
        for (size_t i = 0; i < bytes_; i += line) *static_cast<volatile char*>(message + i) = 0;
      write += written - begin;
      read += bench::now() - arrived;
    }
    return {write / turns * 1e6, read / turns * 1e6};
  }
  size_t bytes_;
  Side sides_[2];
};

int run(const bench::Options& options) {
  if (std::thread::hardware_concurrency() < 2) {
    std::printf("needs two cores\n");
    return 1;
  }
  std::printf(
      "microseconds to write and to read a message; the reader then does nothing, or writes to each line\n");
  for (const size_t kilobytes : {12, 24, 96, 192}) {
    TwoCores cores(kilobytes << 10);
    std::vector<double> writes[2], reads[2];
    for (int round = 0; round < options.rounds; ++round)
      for (const After after : {After::nothing, After::writes}) {
        const TwoCores::Cost cost = cores.run(after);
        writes[int(after)].push_back(cost.write);
        reads[int(after)].push_back(cost.read);
      }
    std::printf("%4zu kB  nothing %6.2f %6.2f   writes %6.2f %6.2f\n", kilobytes, bench::median(writes[0]),
                bench::median(reads[0]), bench::median(writes[1]), bench::median(reads[1]));
  }
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  return trellis::bench::run_benchmark(
      {"Messages between two cores: what it costs to write them where another core has read.",
       {},
       trellis::lab::run},
      argc, argv);
}
