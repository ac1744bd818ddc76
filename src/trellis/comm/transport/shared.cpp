/// Halos go through memory that ranks of a node share.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/comm/traffic.hpp"
#include "trellis/comm/transport/node_memory.hpp"
#include "trellis/comm/transport/transport.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
/// A channel is one message of the sender, in shared memory. Its two slots are filled in turn: the sender may
/// be one exchange ahead of the receiver.
struct alignas(128) Channel {
  alignas(64) uint64_t sent;   ///< so many exchanges have data in a slot; the sender writes it
  alignas(64) uint64_t taken;  ///< so many have a slot that may be filled anew; the receiver writes it
  int64_t receiver, tag, bytes, offset;
};
/// A part begins with the number of channels, then come the channels, then the slots.
struct alignas(128) PartHead {
  int64_t channels;
};

constexpr size_t rounded(size_t bytes) { return (bytes + 127) / 128 * 128; }
Channel* channels_of(char* part) { return reinterpret_cast<Channel*>(part + sizeof(PartHead)); }
char* slot(char* part, const Channel& channel, uint64_t turn) {
  return part + channel.offset + (turn & 1) * rounded(size_t(channel.bytes));
}

bool has_counted_to(uint64_t& counter, uint64_t value) {
  return std::atomic_ref<uint64_t>(counter).load(std::memory_order_acquire) >= value;
}

/// This says which thread waits: MPI's calls are for the one that communicates.
enum class Waiting { communicates, is_a_helper };

/// Waits until the other side has counted to `value`. After a while it moves messages between nodes on, and
/// yields the core each time: ranks may share one.
void wait_for(uint64_t& counter, uint64_t value, Waiting thread) {
  for (int spins = 0; spins < 500; ++spins)
    if (has_counted_to(counter, value)) return;
  while (!has_counted_to(counter, value)) {
    if (thread == Waiting::communicates) move_messages();
    sched_yield();
  }
}

constexpr size_t cache_line = 64;

/// Writes to each line of a slot that was read. On AMD's cores a line that one core wrote and another one
/// reads comes with the right to write it, so that this costs little; and the sender gets a line that was
/// written last by another core four times as fast as it gets back the right to write one that both hold
/// (lab/two_ranks).
void give_back(char* slot, size_t bytes) {
  for (size_t i = 0; i < bytes; i += cache_line) *static_cast<volatile char*>(slot + i) = 0;
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

class SharedTransport final : public HaloTransport {
 public:
  SharedTransport(const NodeMemory& memory, std::shared_ptr<NodeMemory::Segment> segment,
                  DividedMessages sends, DividedMessages receives, std::unique_ptr<Exchange> remote)
      : HaloTransport{receives.places.size()},
        segment_{std::move(segment)},
        own_{memory.own(*segment_)},
        sends_{std::move(sends)},
        receives_{std::move(receives)},
        remote_{std::move(remote)},
        copied_(receives_.near.size(), 0) {
    expect_messages(sends_.near);
    for (const Messages* messages : {&sends_.near, &receives_.near})
      for (const Message& m : *messages)
        if (m.data != nullptr) bytes_to_copy_ += m.bytes;
  }

  /// Finds the channel of each receive. @pre every sender has written its channels
  void find_channels(const NodeMemory& memory, int own_rank) {
    for (const Message& m : receives_.near) {
      char* part = segment_->parts[size_t(memory.node_rank(m.peer))];
      const int64_t count = reinterpret_cast<PartHead*>(part)->channels;
      Channel* begin = channels_of(part);
      Channel* found = std::find_if(
          begin, begin + count, [&](const Channel& c) { return c.receiver == own_rank && c.tag == m.tag; });
      TRELLIS_REQUIRE(found != begin + count && size_t(found->bytes) == m.bytes, "rank ", m.peer,
                      " does not send ", m.bytes, " bytes with tag ", m.tag);
      from_.push_back({part, found});
    }
  }

  void start(const std::function<void()>& pack) override {
    pack();
    ++turn_;
    count_messages(sends_.near);
    if (!remote_) return send_near(Waiting::communicates);
    remote_->start();
    beside_mpi([this](Waiting thread) { send_near(thread); });
  }
  bool has_arrived(int number) override {
    const DividedMessages::Place place = receives_.places[size_t(number)];
    if (!place.is_near) return remote_->has_arrived(place.number);
    const size_t i = size_t(place.number);
    if (!has_counted_to(from_[i].channel->sent, turn_)) return false;
    take(i);
    return true;
  }
  void wait(const std::function<void()>& unpack) override {
    if (remote_) {
      beside_mpi([this](Waiting thread) { receive_near(thread); });
      remote_->wait();
    } else {
      receive_near(Waiting::communicates);
    }
    unpack();
  }
  void wait_each(const std::function<void(int)>& unpack) override {
    if (!remote_) return HaloTransport::wait_each(unpack);
    if (is_worth_a_thread()) beside_mpi([this](Waiting thread) { receive_near(thread); });
    unpack_as_they_arrive(unpack);
    remote_->wait();  // this waits for what was sent
  }
  TransportWay way() const override { return TransportWay::shared; }
  void* outgoing(int number) override {
    const DividedMessages::Place place = sends_.places[size_t(number)];
    if (!place.is_near) return remote_->outgoing(place.number);
    void* const data = sends_.near[size_t(place.number)].data;
    return data != nullptr ? data
                           : free_slot(channels_of(own_)[place.number], turn_ + 1, Waiting::communicates);
  }
  void* incoming(int number) override {
    const DividedMessages::Place place = receives_.places[size_t(number)];
    if (!place.is_near) return remote_->incoming(place.number);
    void* const data = receives_.near[size_t(place.number)].data;
    return data != nullptr ? data : received(size_t(place.number), turn_);
  }

 private:
  struct Source {
    char* part;
    Channel* channel;
  };
  /// Returns true where copies take longer than a second thread needs to begin.
  bool is_worth_a_thread() const {
    constexpr size_t least_bytes = 1 << 17;
    return remote_ && bytes_to_copy_ >= least_bytes && thread_count() > 1;
  }
  /// Calls near(), which moves what travels within the node. Where a second thread pays it does that, and
  /// this one makes MPI's calls meanwhile.
  template <class F>
  void beside_mpi(const F& near) {
    if (!is_worth_a_thread()) return near(Waiting::communicates);
    std::atomic<bool> is_done = false;
    cpu::on_threads(2, [&](int thread, int threads) {
      if (threads == 1) return near(Waiting::communicates);
      if (thread == 1) {
        near(Waiting::is_a_helper);
        is_done.store(true, std::memory_order_release);
      }
      for (int spins = 1; thread == 0 && !is_done.load(std::memory_order_acquire); ++spins) {
        move_messages();
        if (spins > 500) sched_yield();
      }
    });
  }
  void send_near(Waiting thread) {
    for (size_t i = 0; i < sends_.near.size(); ++i) {
      const Message& m = sends_.near[i];
      Channel& channel = channels_of(own_)[i];
      if (m.data != nullptr) std::memcpy(free_slot(channel, turn_, thread), m.data, m.bytes);
      std::atomic_ref<uint64_t>(channel.sent).store(turn_, std::memory_order_release);
    }
    if (turn_ > 1)
      for (size_t i = 0; i < receives_.near.size(); ++i)
        if (receives_.near[i].data == nullptr) release(i, turn_ - 1);
  }
  void receive_near(Waiting thread) {
    for (size_t i = 0; i < receives_.near.size(); ++i) {
      wait_for(from_[i].channel->sent, turn_, thread);
      take(i);
    }
  }
  /// Copies a receive that has memory of its own from the slot, once. @pre it lies there
  void take(size_t i) {
    const Message& m = receives_.near[i];
    if (m.data == nullptr || copied_[i] == turn_) return;
    std::memcpy(m.data, received(i, turn_), m.bytes);
    copied_[i] = turn_;
    release(i, turn_);
  }
  /// Returns the own slot of a turn, once its receiver needs it no longer.
  char* free_slot(Channel& channel, uint64_t turn, Waiting thread) {
    if (turn > 2) wait_for(channel.taken, turn - 2, thread);
    return slot(own_, channel, turn);
  }
  char* received(size_t i, uint64_t turn) { return slot(from_[i].part, *from_[i].channel, turn); }
  void release(size_t i, uint64_t turn) {
    give_back(received(i, turn), receives_.near[i].bytes);
    std::atomic_ref<uint64_t>(from_[i].channel->taken).store(turn, std::memory_order_release);
  }

  std::shared_ptr<NodeMemory::Segment> segment_;
  char* own_;
  DividedMessages sends_, receives_;
  std::vector<Source> from_;
  std::unique_ptr<Exchange> remote_;
  std::vector<uint64_t> copied_;  ///< a receive with memory of its own has the data of this turn
  size_t bytes_to_copy_ = 0;
  uint64_t turn_ = 0;
};

void write_channels(char* part, const Messages& sends) {
  reinterpret_cast<PartHead*>(part)->channels = int64_t(sends.size());
  size_t offset = sizeof(PartHead) + sends.size() * sizeof(Channel);
  for (size_t i = 0; i < sends.size(); ++i) {
    channels_of(part)[i] = {0, 0, sends[i].peer, sends[i].tag, int64_t(sends[i].bytes), int64_t(offset)};
    offset += 2 * rounded(sends[i].bytes);
  }
}

size_t part_bytes(const Messages& sends) {
  size_t bytes = sizeof(PartHead) + sends.size() * sizeof(Channel);
  for (const Message& m : sends) bytes += 2 * rounded(m.bytes);
  return bytes;
}
}  // namespace

TransportPtr make_shared_transport(Communicator& communicator, const Messages& all_sends,
                                   const Messages& all_receives) {
  NodeMemory& memory = communicator.node_memory();
  DividedMessages sends(memory, all_sends), receives(memory, all_receives);
  std::unique_ptr<Exchange> remote;
  if (!sends.far.empty() || !receives.far.empty())
    remote = communicator.make_exchange(sends.far, receives.far);
  auto segment = memory.lease(part_bytes(sends.near));
  if (!segment) return nullptr;
  write_channels(memory.own(*segment), sends.near);
  auto transport = std::make_unique<SharedTransport>(memory, std::move(segment), std::move(sends),
                                                     std::move(receives), std::move(remote));
  memory.barrier();
  transport->find_channels(memory, communicator.rank());
  return transport;
}

}  // namespace trellis
