/// Halos go through memory that ranks of a node share.
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "trellis/base/cache_line.hpp"
#include "trellis/comm/traffic.hpp"
#include "trellis/comm/transport/channels.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
using namespace channels;

/// Writes to each line of a slot that was read. On AMD's cores a line that one core wrote and another one
/// reads comes with the right to write it, so that this costs little; and the sender gets a line that was
/// written last by another core four times as fast as it gets back the right to write one that both hold
/// (lab/two_ranks).
void give_back(char* slot, size_t bytes) {
  for (size_t i = 0; i < bytes; i += cache_line) *static_cast<volatile char*>(slot + i) = 0;
}

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
      from_.push_back({part, find_channel(part, own_rank, m)});
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
      count_to(channel.sent, turn_);
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
    count_to(from_[i].channel->taken, turn);
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

}  // namespace

TransportPtr make_shared_transport(Communicator& communicator, const Messages& all_sends,
                                   const Messages& all_receives) {
  NodeMemory& memory = communicator.node_memory();
  DividedMessages sends(memory, all_sends), receives(memory, all_receives);
  std::unique_ptr<Exchange> remote;
  if (!sends.far.empty() || !receives.far.empty())
    remote = communicator.make_exchange(sends.far, receives.far);
  auto segment = memory.lease(head_bytes(sends.near) + slot_bytes(sends.near));
  if (!segment) return nullptr;
  write_channels(memory.own(*segment), sends.near, head_bytes(sends.near));
  auto transport = std::make_unique<SharedTransport>(memory, std::move(segment), std::move(sends),
                                                     std::move(receives), std::move(remote));
  memory.barrier();
  transport->find_channels(memory, communicator.rank());
  return transport;
}

}  // namespace trellis
