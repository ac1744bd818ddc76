#pragma once
/// Ranks of a node count in shared memory which messages lie where, in channels.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/transport/node_memory.hpp"
#include "trellis/comm/transport/transport.hpp"

namespace trellis::channels {

/// A channel is one message. Its two slots are filled in turn: the sender may be one exchange ahead of the
/// receiver.
struct alignas(128) Channel {
  alignas(64) uint64_t sent;   ///< so many exchanges have data in a slot; the sender writes it
  alignas(64) uint64_t taken;  ///< so many have a slot that may be filled anew; the receiver writes it
  int64_t other;               ///< the rank at the other end than the owner of the part
  int64_t tag, bytes, offset;  ///< the slots lie behind this offset
};
/// A part begins with the number of channels, then come the channels.
struct alignas(128) PartHead {
  int64_t channels;
};

constexpr size_t rounded(size_t bytes) { return (bytes + 127) / 128 * 128; }
inline size_t head_bytes(const Messages& messages) {
  return sizeof(PartHead) + messages.size() * sizeof(Channel);
}
/// Returns the bytes of two slots for each message, and of so many more behind them.
inline size_t slot_bytes(const Messages& messages, size_t behind = 0) {
  size_t bytes = 0;
  for (const Message& m : messages) bytes += 2 * rounded(m.bytes) + behind;
  return bytes;
}
inline Channel* channels_of(char* part) { return reinterpret_cast<Channel*>(part + sizeof(PartHead)); }
inline char* slot(char* part, const Channel& channel, uint64_t turn) {
  return part + channel.offset + (turn & 1) * rounded(size_t(channel.bytes));
}

/// Returns what lies behind the slots of a channel.
inline char* behind_slots(char* part, const Channel& channel) {
  return part + channel.offset + 2 * rounded(size_t(channel.bytes));
}

/// Writes the channels of these messages; the slots of the first one begin at `offset`, and so many bytes lie
/// behind those of each.
inline void write_channels(char* part, const Messages& messages, size_t offset, size_t behind = 0) {
  reinterpret_cast<PartHead*>(part)->channels = int64_t(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    channels_of(part)[i] = {
        0, 0, messages[i].peer, messages[i].tag, int64_t(messages[i].bytes), int64_t(offset)};
    offset += 2 * rounded(messages[i].bytes) + behind;
  }
}
/// Returns the channel of a message in the part of its peer. @pre that has written its channels
inline Channel* find_channel(char* part, int own_rank, const Message& m) {
  Channel* const begin = channels_of(part);
  Channel* const end = begin + reinterpret_cast<PartHead*>(part)->channels;
  Channel* const found =
      std::find_if(begin, end, [&](const Channel& c) { return c.other == own_rank && c.tag == m.tag; });
  TRELLIS_REQUIRE(found != end && size_t(found->bytes) == m.bytes, "rank ", m.peer, " has no message of ",
                  m.bytes, " bytes with tag ", m.tag, " for this rank, or from it");
  return found;
}

inline bool has_counted_to(uint64_t& counter, uint64_t value) {
  return std::atomic_ref<uint64_t>(counter).load(std::memory_order_acquire) >= value;
}
inline void count_to(uint64_t& counter, uint64_t value) {
  std::atomic_ref<uint64_t>(counter).store(value, std::memory_order_release);
}

/// This says which thread waits: MPI's calls are for the one that communicates.
enum class Waiting { communicates, is_a_helper };

/// Waits until the other side has counted to `value`. After a while it moves messages between nodes on, and
/// yields the core each time: ranks may share one.
inline void wait_for(uint64_t& counter, uint64_t value, Waiting thread) {
  for (int spins = 0; spins < 500; ++spins)
    if (has_counted_to(counter, value)) return;
  while (!has_counted_to(counter, value)) {
    if (thread == Waiting::communicates) move_messages();
    sched_yield();
  }
}

/// Here are the messages with ranks of this node and those with others, and where each of them is.
struct DividedMessages {
  DividedMessages(const NodeMemory& memory, const Messages& messages) {
    for (const Message& m : messages) {
      const bool is_near = memory.node_rank(m.peer) >= 0;
      Messages& part = is_near ? near : far;
      places.push_back({is_near, int(part.size())});
      part.push_back(m);
    }
  }
  struct Place {
    bool is_near;
    int number;  ///< it is the number in its part
  };
  Messages near, far;
  std::vector<Place> places;
};

}  // namespace trellis::channels
