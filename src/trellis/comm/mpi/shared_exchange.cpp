#include "trellis/comm/mpi/shared_exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Error(message(call, " failed with code ", code));
}

/// One message of the sender, in shared memory. Its two slots are filled in turn: the sender may be one
/// exchange ahead of the receiver.
struct alignas(128) Channel {
  alignas(64) uint64_t sent;   ///< exchanges whose data lie in a slot; written by the sender
  alignas(64) uint64_t taken;  ///< exchanges that were copied; written by the receiver
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

/// Waits until the other side has counted to `value`. Yields the core after a while: ranks may share one.
void wait_for(uint64_t& counter, uint64_t value) {
  const std::atomic_ref<uint64_t> count(counter);
  for (int spins = 0; count.load(std::memory_order_acquire) < value; ++spins)
    if (spins > 500) sched_yield();
}

class SharedExchange final : public Exchange {
 public:
  SharedExchange(SharedSegments& segments, std::shared_ptr<SharedSegments::Segment> segment,
                 std::vector<Message> sends, std::vector<Message> receives, std::unique_ptr<Exchange> remote)
      : segment_{std::move(segment)},
        own_{segments.own(*segment_)},
        sends_{std::move(sends)},
        receives_{std::move(receives)},
        remote_{std::move(remote)} {}

  /// The channel of each receive. @pre every sender has written its channels
  void find_channels(const SharedSegments& segments, int own_rank) {
    for (const Message& m : receives_) {
      char* part = segment_->parts[size_t(segments.node_rank(m.peer))];
      const int64_t count = reinterpret_cast<PartHead*>(part)->channels;
      Channel* begin = channels_of(part);
      Channel* found = std::find_if(
          begin, begin + count, [&](const Channel& c) { return c.receiver == own_rank && c.tag == m.tag; });
      TRELLIS_REQUIRE(found != begin + count && size_t(found->bytes) == m.bytes, "rank ", m.peer,
                      " does not send ", m.bytes, " bytes with tag ", m.tag);
      from_.push_back({part, found});
    }
  }

  void start() override {
    ++turn_;
    if (remote_) remote_->start();
    for (size_t i = 0; i < sends_.size(); ++i) {
      Channel& channel = channels_of(own_)[i];
      if (turn_ > 2) wait_for(channel.taken, turn_ - 2);
      std::memcpy(slot(own_, channel, turn_), sends_[i].data, sends_[i].bytes);
      std::atomic_ref<uint64_t>(channel.sent).store(turn_, std::memory_order_release);
    }
  }
  void wait() override {
    for (size_t i = 0; i < receives_.size(); ++i) {
      Channel& channel = *from_[i].channel;
      wait_for(channel.sent, turn_);
      std::memcpy(receives_[i].data, slot(from_[i].part, channel, turn_), receives_[i].bytes);
      std::atomic_ref<uint64_t>(channel.taken).store(turn_, std::memory_order_release);
    }
    if (remote_) remote_->wait();
  }

 private:
  struct Source {
    char* part;
    Channel* channel;
  };
  std::shared_ptr<SharedSegments::Segment> segment_;
  char* own_;
  std::vector<Message> sends_, receives_;
  std::vector<Source> from_;
  std::unique_ptr<Exchange> remote_;
  uint64_t turn_ = 0;
};

void write_channels(char* part, const std::vector<Message>& sends) {
  reinterpret_cast<PartHead*>(part)->channels = int64_t(sends.size());
  size_t offset = sizeof(PartHead) + sends.size() * sizeof(Channel);
  for (size_t i = 0; i < sends.size(); ++i) {
    channels_of(part)[i] = {0, 0, sends[i].peer, sends[i].tag, int64_t(sends[i].bytes), int64_t(offset)};
    offset += 2 * rounded(sends[i].bytes);
  }
}

size_t part_bytes(const std::vector<Message>& sends) {
  size_t bytes = sizeof(PartHead) + sends.size() * sizeof(Channel);
  for (const Message& m : sends) bytes += 2 * rounded(m.bytes);
  return bytes;
}
}  // namespace

SharedSegments::SharedSegments(MPI_Comm comm) {
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_), "MPI_Comm_split_type");
  MPI_Comm_rank(node_, &own_rank_);
  MPI_Comm_size(node_, &node_size_);
  int size = 1;
  MPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<size_t>(size));
  node_rank_.resize(size_t(size));
  for (int i = 0; i < size; ++i) ranks[size_t(i)] = i;
  MPI_Group all, node;
  MPI_Comm_group(comm, &all);
  MPI_Comm_group(node_, &node);
  check(MPI_Group_translate_ranks(all, size, ranks.data(), node, node_rank_.data()),
        "MPI_Group_translate_ranks");
  for (int& rank : node_rank_)
    if (rank == MPI_UNDEFINED) rank = -1;
  MPI_Group_free(&all);
  MPI_Group_free(&node);
}

void SharedSegments::barrier() { check(MPI_Barrier(node_), "MPI_Barrier"); }

std::shared_ptr<SharedSegments::Segment> SharedSegments::lease(size_t bytes) {
  // Free on all ranks, and large enough for all: one bit for each of the first 64 segments.
  uint64_t usable[2] = {0, 0};
  for (size_t i = 0; i < std::min<size_t>(segments_.size(), 64); ++i)
    if (!segments_[i]->is_leased && segments_[i]->bytes >= bytes) usable[0] |= uint64_t(1) << i;
  check(MPI_Allreduce(MPI_IN_PLACE, usable, 1, MPI_UINT64_T, MPI_BAND, node_), "MPI_Allreduce");
  size_t index = segments_.size();
  if (usable[0] != 0) {
    index = 0;
    while ((usable[0] >> index & 1) == 0) ++index;
  } else {
    uint64_t most = bytes;
    check(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, node_), "MPI_Allreduce");
    auto segment = std::make_shared<Segment>();
    segment->bytes = (size_t(most) + 4095) / 4096 * 4096;
    segment->parts.resize(size_t(node_size_));
    MPI_Win window;
    void* base = nullptr;
    check(MPI_Win_allocate_shared(MPI_Aint(segment->bytes), 1, MPI_INFO_NULL, node_, &base, &window),
          "MPI_Win_allocate_shared");
    for (int rank = 0; rank < node_size_; ++rank) {
      MPI_Aint size = 0;
      int unit = 1;
      void* part = nullptr;
      check(MPI_Win_shared_query(window, rank, &size, &unit, &part), "MPI_Win_shared_query");
      segment->parts[size_t(rank)] = static_cast<char*>(part);
    }
    segments_.push_back(std::move(segment));
  }
  const std::shared_ptr<Segment> leased = segments_[index];
  leased->is_leased = true;
  return {leased.get(), [leased](Segment* segment) { segment->is_leased = false; }};
}

std::unique_ptr<Exchange> make_shared_exchange(
    MPI_Comm comm, SharedSegments& segments, const std::vector<Message>& sends,
    const std::vector<Message>& receives,
    std::unique_ptr<Exchange> (*make_remote)(MPI_Comm, const std::vector<Message>&,
                                             const std::vector<Message>&)) {
  std::vector<Message> near[2], far[2];
  for (const Message& m : sends) (segments.node_rank(m.peer) >= 0 ? near : far)[0].push_back(m);
  for (const Message& m : receives) (segments.node_rank(m.peer) >= 0 ? near : far)[1].push_back(m);
  std::unique_ptr<Exchange> remote;
  if (!far[0].empty() || !far[1].empty()) remote = make_remote(comm, far[0], far[1]);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  auto segment = segments.lease(part_bytes(near[0]));
  write_channels(segments.own(*segment), near[0]);
  auto exchange = std::make_unique<SharedExchange>(segments, segment, near[0], near[1], std::move(remote));
  segments.barrier();
  exchange->find_channels(segments, rank);
  return exchange;
}

}  // namespace trellis
