#pragma once
/// Kernels and copies of a simulated GPU reach memory of other processes, and of the host, through windows:
/// ranges of device addresses. Without a schedule a window has the pages of that memory. With one it has
/// pages of its own: what a piece of work reads was there when the piece began, and what it writes stays on
/// its way. It arrives in small parts, in random order, some of them at any time; all of it has arrived only
/// once the host has waited for a queue that has the piece, or that came behind it.
#include <cstddef>
#include <cstdint>
#include <map>

namespace trellis::cuda::simulated {

/// Returns a window. Throws Error where the system refuses. @pre `target` begins a page of memory that is
/// mapped as shared
void* open_window(void* target, size_t bytes);
/// Writes that are on their way arrive first. The addresses stay with the process, without memory.
void close_window(void* window);

/// Gives the windows pages of their own, or those of their targets. @pre nothing is on its way
void delay_writes(bool is_delayed);

/// Stand around a piece of work of a queue. @pre writes are delayed
void read_windows();
void take_writes(int queue, uint64_t piece);

/// These are for launches with flags (remote_flags.hpp). Parts of a block arrive in any order; a flag does
/// behind those that were on their way and fenced, of its block, or of all blocks that it saw.
struct WriteOrder {
  uint64_t block;
  bool is_flag, sees_all;
};
void take_writes_of_block(const WriteOrder& order);
/// Keeps flags from here on behind the parts of a block that are on their way.
void fence_writes(uint64_t block);
/// Lets each part that is on its way and may arrive do so with this chance. Returns true while there are any.
bool deliver_in_order(double chance, uint64_t (*random)());

/// Lets each part that is on its way arrive with this chance, in random order. `random` returns any number.
void deliver_some(double chance, uint64_t (*random)());
/// Lets all writes of these pieces arrive: each entry has a queue, and the number of its pieces that are
/// over.
void deliver(const std::map<int, uint64_t>& over, uint64_t (*random)());

}  // namespace trellis::cuda::simulated
