#include "trellis/device/simulated/remote_flags.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "trellis/device/peer_memory.hpp"
#include "trellis/device/simulated/queues.hpp"
#include "trellis/device/simulated/windows.hpp"

namespace trellis::cuda::simulated {

namespace {
/// It is the block that runs.
struct Block {
  uint64_t number = 0;
  bool sees_all = false;
};
Block& block() {
  static Block now;
  return now;
}

void take_writes_so_far(bool is_flag = false) {
  if (has_schedule()) take_writes_of_block({block().number, is_flag, is_flag && block().sees_all});
}

/// Lets other processes run; with a schedule some of what is on its way arrives first, and now and then
/// others have time for a whole launch: they may see a flag, and read, before the rest arrives. Returns true
/// while something is left.
bool let_others_run() {
  if (!has_schedule()) {
    sched_yield();
    return false;
  }
  const bool is_left = deliver_in_order(0.3, random_number);
  const uint64_t kind = random_number() % 8;
  if (kind < 4)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(kind < 7 ? random_number() % 50 : 2000));
  return is_left;
}
}  // namespace

void run_with_flags(int queue, std::function<void()> work) {
  submit(queue, [work = std::move(work)] {
    work();
    while (let_others_run()) continue;
  });
  run_what_it_holds(queue);
}

std::vector<int> in_any_order(int count) {
  std::vector<int> all(size_t(std::max(count, 0)));
  std::iota(all.begin(), all.end(), 0);
  for (size_t left = has_schedule() ? all.size() : 0; left > 0; --left)
    std::swap(all[left - 1], all[random_number() % left]);
  return all;
}

void begin_block() { block() = {block().number + 1, false}; }

void fence_own_writes() {
  take_writes_so_far();
  if (!is_left_out(PeerWait::fence_of_block)) fence_writes(block().number);
}

void fence_all_that_it_saw() {
  take_writes_so_far();
  if (is_left_out(PeerWait::fence_of_message)) return;
  fence_writes(block().number);
  block().sees_all = true;
}

void raise(uint64_t* flag, uint64_t turn) {
  take_writes_so_far();
  std::atomic_ref<uint64_t>(*flag).store(turn, std::memory_order_release);
  take_writes_so_far(true);
}

void wait_for_flag(const uint64_t* flag, uint64_t turn) {
  if (is_left_out(PeerWait::for_flag)) return;
  std::atomic_ref<uint64_t> seen(*const_cast<uint64_t*>(flag));
  while (seen.load(std::memory_order_acquire) < turn) let_others_run();
}

}  // namespace trellis::cuda::simulated
