/// Halos of fields on GPUs go straight into memory of the receiver's GPU, or of its host, which the ranks of
/// a node have mapped; between nodes they go through page-locked memory of the host.
#include <deque>
#include <map>

#include "trellis/comm/traffic.hpp"
#include "trellis/comm/transport/channels.hpp"
#include "trellis/comm/transport/gpu_messages.hpp"
#include "trellis/comm/transport/mapped_host.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/peer_memory.hpp"

namespace trellis {

namespace {
using namespace channels;

/// A flag has a line of the cache of its own, behind the slots of its message.
constexpr size_t flag_bytes = 128;
size_t bytes_behind_slots(TransportWay way) { return way == TransportWay::fused ? flag_bytes : 0; }

/// The channels lie in the host's memory of the receiver, the slots in that of its GPU, or of its host
/// (`mapped`). Kernels write into the slots, or copies do where a message has data of its own.
class PeerTransport final : public HaloTransport {
 public:
  PeerTransport(TransportWay way, std::shared_ptr<NodeMemory::Segment> counters,
                std::shared_ptr<NodeMemory::Segment> slots, const NodeMemory& memory, DividedMessages sends,
                DividedMessages receives)
      : HaloTransport{receives.places.size()},
        way_{way},
        counters_{std::move(counters)},
        slots_{std::move(slots)},
        own_channels_{channels_of(memory.own(*counters_))},
        own_slots_{for_kernels(memory.own(*slots_))},
        sends_{std::move(sends)},
        receives_{std::move(receives)} {
    if (way == TransportWay::peer_copied) sends_.near = memory_.complete(std::move(sends_.near));
    host_sends_ = on_host(sends_.far);
    host_receives_ = on_host(receives_.far);
    expect_messages(sends_.near);
    for (const Message& m : sends_.near)
      slots_of_peers_.push_back(for_kernels(slots_->parts[size_t(memory.node_rank(m.peer))]));
    if (way == TransportWay::fused) set_flags_to_zero();
  }
  ~PeerTransport() override {
    if (way_ != TransportWay::mapped && way_ != TransportWay::fused) return;
    try {
      cuda::synchronize();  // what was launched may reach memory of the host, or that of other ranks
    } catch (const Error&) {
      return;  // no kernel runs any more
    }
  }
  /// Finds the channel of each send. Collective where a rank has messages with another node: these get their
  /// requests. @pre every receiver has written its channels
  void connect(Communicator& communicator, const NodeMemory& memory) {
    for (size_t i = 0; i < sends_.near.size(); ++i) {
      const Message& m = sends_.near[i];
      char* const part = counters_->parts[size_t(memory.node_rank(m.peer))];
      to_.push_back({slots_of_peers_[i], find_channel(part, communicator.rank(), m)});
    }
    if (sends_.far.empty() && receives_.far.empty()) return;
    far_ = communicator.make_exchange(host_sends_, host_receives_);
  }

  TransportWay way() const override { return way_; }
  void* outgoing(int number) override {
    const DividedMessages::Place place = sends_.places[size_t(number)];
    const size_t i = size_t(place.number);
    if (!place.is_near) return sends_.far[i].data;
    if (use_ == Use::with_flags) return flagged_slot(to_[i].slots, *to_[i].channel);
    return sends_.near[i].data != nullptr ? sends_.near[i].data : free_slot(i, turn_ + 1);
  }
  void* incoming(int number) override {
    const DividedMessages::Place place = receives_.places[size_t(number)];
    const size_t i = size_t(place.number);
    if (!place.is_near) return receives_.far[i].data;
    if (use_ == Use::with_flags) return flagged_slot(own_slots_, own_channels_[i]);
    return receives_.near[i].data != nullptr ? receives_.near[i].data : received(i);
  }
  HaloFlags begin_with_flags() override {
    TRELLIS_REQUIRE(way_ == TransportWay::fused && receives_.far.empty() && sends_.far.empty() &&
                        to_.size() <= size_t(HaloFlags::most_messages) &&
                        receives_.near.size() <= size_t(HaloFlags::most_messages),
                    "a halo by the way ", name_of(way_), " with ", to_.size(),
                    " messages within the node and ", sends_.far.size(), " to others has no flags");
    be_used(Use::with_flags);
    HaloFlags flags;
    flags.turn = ++turn_;
    count_messages(sends_.near);
    for (size_t i = 0; i < to_.size(); ++i)
      flags.there[i] = reinterpret_cast<uint64_t*>(behind_slots(to_[i].slots, *to_[i].channel));
    for (size_t i = 0; i < receives_.near.size(); ++i) flags.here[i] = own_flag(i);
    flags.receives = int(receives_.near.size());
    flags.counters = static_cast<unsigned*>(counters_of_blocks_.data());
    return flags;
  }
  /// Packs in the stream beside the main one, behind what that one holds.
  void start(const std::function<void()>& pack) override {
    be_used(Use::by_the_host);
    if (is_under_way_) abandon();
    is_under_way_ = true;
    stream_.follow_main();
    const cuda::Stream::Scope scope(stream_);
    pack();
    ++turn_;
    count_messages(sends_.near);
    for (size_t i = 0; i < sends_.near.size(); ++i)
      if (const Message& m = sends_.near[i]; m.data != nullptr)
        cuda::copy_on_device(free_slot(i, turn_), m.data, m.bytes);
    for (size_t i = 0; i < sends_.far.size(); ++i)
      if (!is_mapped(sends_.far[i].data))
        stream_.copy_to_host(host_sends_[i].data, sends_.far[i].data, sends_.far[i].bytes);
  }
  bool has_arrived(int) override { return !is_under_way_; }
  /// Waits until the own messages have been written, and says so; then for those of the others. Callers come
  /// here after launching the inner sites, which the GPU computes meanwhile.
  void wait(const std::function<void()>& unpack) override {
    stream_.wait();
    // All reads of the last exchange's slots were launched before this one was packed, and have ended.
    for (size_t i = 0; i < receives_.near.size(); ++i) count_to(own_channels_[i].taken, turn_ - 1);
    for (const Target& to : to_) count_to(to.channel->sent, turn_);
    if (far_) far_->start();
    for (size_t i = 0; i < receives_.near.size() && !cuda::is_left_out(cuda::PeerWait::for_data); ++i)
      wait_for(own_channels_[i].sent, turn_, Waiting::communicates);
    if (far_) far_->wait();
    is_under_way_ = false;
    const cuda::Stream::Scope scope(stream_);
    for (size_t i = 0; i < receives_.near.size(); ++i)
      if (const Message& m = receives_.near[i]; m.data != nullptr)
        cuda::copy_on_device(m.data, received(i), m.bytes);
    for (size_t i = 0; i < receives_.far.size(); ++i)
      if (!is_mapped(receives_.far[i].data))
        stream_.copy_from_host(receives_.far[i].data, host_receives_[i].data, receives_.far[i].bytes);
    unpack();
    stream_.precede_main();
  }

 private:
  struct Target {
    char* slots;
    Channel* channel;
  };
  /// Returns the same messages in memory of the host. Those that have no memory get it here, where kernels
  /// reach it: with `mapped` it is that of the host.
  Messages on_host(Messages& messages) {
    Messages on_host = messages;
    for (size_t i = 0; i < messages.size(); ++i) {
      Message& m = messages[i];
      if (way_ == TransportWay::mapped && m.data == nullptr) {
        const PagesForKernels& pages = pages_.emplace_back(m.bytes);
        on_host[i].data = pages.data();
        m.data = pages.mapped();
      } else {
        on_host[i].data = pinned_.emplace_back(m.bytes).data();
      }
    }
    messages = memory_.complete(std::move(messages));
    return on_host;
  }
  /// Returns true for memory of the host that has no other place on the GPU.
  bool is_mapped(const void* data) const {
    return std::any_of(pages_.begin(), pages_.end(),
                       [data](const PagesForKernels& pages) { return pages.mapped() == data; });
  }
  /// Returns where kernels reach the slots in a part of the segment.
  char* for_kernels(char* part) {
    if (way_ != TransportWay::mapped) return part;
    return static_cast<char*>(mapped_.try_emplace(part, part, slots_->bytes).first->second.mapped());
  }
  /// Ends an exchange that nobody waited for, as an error came between: others may wait for its messages.
  void abandon() {
    stream_.wait();
    for (size_t i = 0; i < receives_.near.size(); ++i) count_to(own_channels_[i].taken, turn_);
    for (const Target& to : to_) count_to(to.channel->sent, turn_);
  }
  /// Returns the slot of a turn in the receiver's memory, once that needs it no longer.
  char* free_slot(size_t i, uint64_t turn) {
    const Target& to = to_[i];
    if (turn > 2 && !cuda::is_left_out(cuda::PeerWait::for_room))
      wait_for(to.channel->taken, turn - 2, Waiting::communicates);
    return slot(to.slots, *to.channel, turn);
  }
  char* received(size_t i) { return slot(own_slots_, own_channels_[i], turn_); }

  enum class Use { not_yet, by_the_host, with_flags };
  /// Hosts and launches count exchanges apart: slots would be taken twice.
  void be_used(Use use) {
    TRELLIS_REQUIRE(use_ == Use::not_yet || use_ == use, "a halo is used with flags and without");
    use_ = use;
  }
  char* flagged_slot(char* slots, const Channel& channel) const {
    return slot(slots, channel, cuda::is_left_out(cuda::PeerWait::second_slot) ? 0 : turn_);
  }
  uint64_t* own_flag(size_t i) const {
    return reinterpret_cast<uint64_t*>(behind_slots(own_slots_, own_channels_[i]));
  }
  /// Others look at the flags once all ranks of the node have come here.
  void set_flags_to_zero() {
    for (size_t i = 0; i < receives_.near.size(); ++i) cuda::set_zero(own_flag(i), flag_bytes);
    counters_of_blocks_ = Memory(sizeof(unsigned) * (1 + HaloFlags::most_messages), Backend::cuda);
    cuda::synchronize();
  }

  TransportWay way_;
  std::shared_ptr<NodeMemory::Segment> counters_, slots_;
  std::map<char*, HostForKernels> mapped_;  ///< these parts of the slots lie on the host
  std::deque<PagesForKernels> pages_;       ///< likewise messages between nodes; they cannot be moved
  Channel* own_channels_;
  char* own_slots_;
  GpuMessageMemory memory_;
  DividedMessages sends_, receives_;
  std::vector<char*> slots_of_peers_;  ///< each send has them
  std::vector<Target> to_;
  std::deque<cuda::PinnedMemory> pinned_;  // it cannot be moved
  Messages host_sends_, host_receives_;
  std::unique_ptr<Exchange> far_;
  cuda::Stream stream_;
  Memory counters_of_blocks_;  ///< launches with flags take them
  Use use_ = Use::not_yet;
  uint64_t turn_ = 0;
  bool is_under_way_ = false;
};
}  // namespace

TransportPtr make_peer_transport(Communicator& communicator, const Messages& all_sends,
                                 const Messages& all_receives, TransportWay way) {
  NodeMemory& memory = communicator.node_memory();
  DividedMessages sends(memory, all_sends), receives(memory, all_receives);
  const size_t behind = bytes_behind_slots(way);
  auto slots = memory.lease(slot_bytes(receives.near, behind),
                            way == TransportWay::mapped ? Backend::cpu : Backend::cuda);
  if (!slots) return nullptr;
  auto counters = memory.lease(head_bytes(receives.near));
  if (!counters) return nullptr;
  write_channels(memory.own(*counters), receives.near, 0, behind);
  std::unique_ptr<PeerTransport> transport;
  try {
    transport = std::make_unique<PeerTransport>(way, std::move(counters), std::move(slots), memory,
                                                std::move(sends), std::move(receives));
  } catch (const Error& error) {
    if (way != TransportWay::mapped) throw;
    memory.set_failure(error.what());  // other ranks may have their pages
  }
  memory.barrier();
  if (transport) transport->connect(communicator, memory);
  return transport;
}

}  // namespace trellis
