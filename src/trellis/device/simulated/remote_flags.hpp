#pragma once
/// Launches that tell other processes by flags what they have written have these steps on a simulated GPU.
/// With a schedule writes to other processes stay on their way, and arrive in any order while the launch
/// waits: a flag before what it speaks of, unless fences keep it behind.
#include <cstdint>
#include <functional>
#include <vector>

namespace trellis::cuda::simulated {

/// Runs the work now, behind what the queue holds. All that it writes has arrived when this returns.
void run_with_flags(int queue, std::function<void()> work);

/// Returns 0 .. count - 1, with a schedule in random order.
std::vector<int> in_any_order(int count);

/// Begins a block: fences tell its writes from those of others.
void begin_block();
/// Keeps the flags that the block raises behind its writes.
void fence_own_writes();
/// Keeps them also behind what other blocks have written and fenced.
void fence_all_that_it_saw();
void raise(uint64_t* flag, uint64_t turn);
/// Lets other processes run until the flag has come.
void wait_for_flag(const uint64_t* flag, uint64_t turn);

}  // namespace trellis::cuda::simulated
