#include "trellis/comm/mpi/shared_exchange.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/comm/message_memory.hpp"
#include "trellis/comm/traffic.hpp"

namespace trellis {

namespace {
void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Error(message(call, " failed with code ", code));
}

/// One message of the sender, in shared memory. Its two slots are filled in turn: the sender may be one
/// exchange ahead of the receiver.
struct alignas(128) Channel {
  alignas(64) uint64_t sent;   ///< exchanges whose data lie in a slot; written by the sender
  alignas(64) uint64_t taken;  ///< exchanges whose slot may be filled anew; written by the receiver
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

constexpr size_t cache_line = 64;

/// Writes to each line of a slot that was read. On AMD's cores a line that one core wrote and another one
/// reads comes with the right to write it, so that this costs little; and the sender gets a line that was
/// written last by another core four times as fast as it gets back the right to write one that both hold
/// (lab/two_ranks).
void give_back(char* slot, size_t bytes) {
  for (size_t i = 0; i < bytes; i += cache_line) *static_cast<volatile char*>(slot + i) = 0;
}

/// What a system call says of itself.
std::string failure_of(const char* call) { return message(call, ": ", std::strerror(errno)); }

/// Pages that can be mapped by other processes while this is alive.
class MemoryFile {
 public:
  explicit MemoryFile(size_t bytes) : descriptor_{memfd_create("trellis_halos", MFD_CLOEXEC)} {
    if (descriptor_ < 0) {
      failure_ = failure_of("memfd_create");
    } else if (const int code = posix_fallocate(descriptor_, 0, off_t(bytes)); code != 0) {
      errno = code;
      failure_ = message(failure_of("posix_fallocate"), " (", bytes, " bytes)");
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  const std::string& failure() const { return failure_; }

 private:
  int descriptor_;
  std::string failure_;
};

/// Null with a failure.
char* map(int descriptor, size_t bytes, std::string& failure) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data != MAP_FAILED) return static_cast<char*>(data);
  failure = failure_of("mmap");
  return nullptr;
}

/// Null with a failure: processes of another name space of identifiers, say, are not who they seem to be.
char* map_of_process(int64_t pid, int64_t file, size_t bytes, uint64_t token, std::string& failure) {
  const std::string path = message("/proc/", pid, "/fd/", file);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    failure = failure_of(path.c_str());
    return nullptr;
  }
  const off_t length = lseek(descriptor, 0, SEEK_END);
  char* const data = length == off_t(bytes) ? map(descriptor, bytes, failure) : nullptr;
  close(descriptor);
  if (data == nullptr && failure.empty())
    failure = message(path, " has ", length, " bytes, expected ", bytes, " of another rank");
  if (data != nullptr && std::memcmp(data, &token, sizeof(token)) != 0)
    failure = message(path, " is not the memory of another rank");
  return data;
}

/// A number that no other memory begins with.
uint64_t token() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return uint64_t(now) * 0x9e3779b97f4a7c15u ^ uint64_t(getpid());
}

/// The messages with ranks of this node and those with others, and where each of them is.
struct DividedMessages {
  DividedMessages(const SharedSegments& segments, const std::vector<Message>& messages) {
    for (const Message& m : messages) {
      const bool is_near = segments.node_rank(m.peer) >= 0;
      std::vector<Message>& part = is_near ? near : far;
      places.push_back({is_near, int(part.size())});
      part.push_back(m);
    }
  }
  struct Place {
    bool is_near;
    int number;  ///< in its part
  };
  std::vector<Message> near, far;
  std::vector<Place> places;
};

class SharedExchange final : public Exchange {
 public:
  SharedExchange(SharedSegments& segments, std::shared_ptr<SharedSegments::Segment> segment,
                 MessageMemory memory, DividedMessages sends, DividedMessages receives,
                 std::unique_ptr<Exchange> remote)
      : segment_{std::move(segment)},
        own_{segments.own(*segment_)},
        memory_{std::move(memory)},
        sends_{std::move(sends)},
        receives_{std::move(receives)},
        remote_{std::move(remote)} {}

  /// The channel of each receive. @pre every sender has written its channels
  void find_channels(const SharedSegments& segments, int own_rank) {
    for (const Message& m : receives_.near) {
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
    count_messages(sends_.near);
    if (remote_) remote_->start();
    for (size_t i = 0; i < sends_.near.size(); ++i) {
      const Message& m = sends_.near[i];
      Channel& channel = channels_of(own_)[i];
      if (m.data != nullptr) std::memcpy(free_slot(channel, turn_), m.data, m.bytes);
      std::atomic_ref<uint64_t>(channel.sent).store(turn_, std::memory_order_release);
    }
    if (turn_ > 1)
      for (size_t i = 0; i < receives_.near.size(); ++i)
        if (receives_.near[i].data == nullptr) release(i, turn_ - 1);
  }
  void wait() override {
    for (size_t i = 0; i < receives_.near.size(); ++i) {
      const Message& m = receives_.near[i];
      wait_for(from_[i].channel->sent, turn_);
      if (m.data == nullptr) continue;
      std::memcpy(m.data, received(i, turn_), m.bytes);
      release(i, turn_);
    }
    if (remote_) remote_->wait();
  }
  void* outgoing(int number) override {
    const DividedMessages::Place place = sends_.places[size_t(number)];
    if (!place.is_near) return remote_->outgoing(place.number);
    void* const data = sends_.near[size_t(place.number)].data;
    return data != nullptr ? data : free_slot(channels_of(own_)[place.number], turn_ + 1);
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
  /// The own slot of a turn, once its receiver needs it no longer.
  char* free_slot(Channel& channel, uint64_t turn) {
    if (turn > 2) wait_for(channel.taken, turn - 2);
    return slot(own_, channel, turn);
  }
  char* received(size_t i, uint64_t turn) { return slot(from_[i].part, *from_[i].channel, turn); }
  void release(size_t i, uint64_t turn) {
    give_back(received(i, turn), receives_.near[i].bytes);
    std::atomic_ref<uint64_t>(from_[i].channel->taken).store(turn, std::memory_order_release);
  }

  std::shared_ptr<SharedSegments::Segment> segment_;
  char* own_;
  MessageMemory memory_;  ///< of messages that are copied and came without
  DividedMessages sends_, receives_;
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

SharedSegments::Segment::~Segment() {
  for (char* part : parts)
    if (part != nullptr) munmap(part, bytes);
}

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

bool SharedSegments::agree(const std::string& failure) {
  int first = failure.empty() ? node_size_ : own_rank_;
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node_), "MPI_Allreduce");
  if (first == node_size_) return true;
  char text[256] = {};
  failure.copy(text, sizeof(text) - 1);
  check(MPI_Bcast(text, int(sizeof(text)), MPI_CHAR, first, node_), "MPI_Bcast");
  failure_ = text;
  return false;
}

/// A file in memory for each rank, which the others open as their peer's (/proc/PID/fd): no name in /dev/shm
/// is left behind by a killed process, and no window of MPI is asked for, whose creation hangs on some ranks
/// where another finds /dev/shm full.
std::shared_ptr<SharedSegments::Segment> SharedSegments::make(size_t bytes) {
  struct Part {
    int64_t pid, file;
    uint64_t token;
  };
  auto segment = std::make_shared<Segment>(bytes, size_t(node_size_));
  MemoryFile file(bytes);
  if (!agree(file.failure())) return nullptr;
  const Part own{getpid(), file.descriptor(), token()};
  std::vector<Part> parts(static_cast<size_t>(node_size_));
  check(MPI_Allgather(&own, int(sizeof(Part)), MPI_BYTE, parts.data(), int(sizeof(Part)), MPI_BYTE, node_),
        "MPI_Allgather");
  std::string failure;
  segment->parts[size_t(own_rank_)] = map(file.descriptor(), bytes, failure);
  if (failure.empty()) std::memcpy(segment->parts[size_t(own_rank_)], &own.token, sizeof(own.token));
  if (!agree(failure)) return nullptr;  // and the tokens are written
  for (int rank = 0; rank < node_size_ && failure.empty(); ++rank) {
    if (rank == own_rank_) continue;
    const Part& part = parts[size_t(rank)];
    segment->parts[size_t(rank)] = map_of_process(part.pid, part.file, bytes, part.token, failure);
  }
  if (!agree(failure)) return nullptr;  // and nobody needs the descriptors any more
  return segment;
}

std::shared_ptr<SharedSegments::Segment> SharedSegments::lease(size_t bytes) {
  // Free on all ranks, and large enough for all: one bit for each of the first 64 segments.
  uint64_t usable = 0, most = bytes;
  for (size_t i = 0; i < std::min<size_t>(segments_.size(), 64); ++i)
    if (!segments_[i]->is_leased && segments_[i]->bytes >= bytes) usable |= uint64_t(1) << i;
  check(MPI_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_UINT64_T, MPI_BAND, node_), "MPI_Allreduce");
  if (usable == 0) {
    check(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, node_), "MPI_Allreduce");
    auto segment = make((size_t(most) + 4095) / 4096 * 4096);
    if (!segment) return nullptr;
    segments_.push_back(std::move(segment));
  }
  const size_t index = usable == 0 ? segments_.size() - 1 : size_t(std::countr_zero(usable));
  const std::shared_ptr<Segment> leased = segments_[index];
  leased->is_leased = true;
  return {leased.get(), [leased](Segment* segment) { segment->is_leased = false; }};
}

std::unique_ptr<Exchange> make_shared_exchange(
    MPI_Comm comm, SharedSegments& segments, SharedUse use, const std::vector<Message>& all_sends,
    const std::vector<Message>& all_receives,
    std::unique_ptr<Exchange> (*make_remote)(MPI_Comm, const std::vector<Message>&,
                                             const std::vector<Message>&)) {
  DividedMessages sends(segments, all_sends), receives(segments, all_receives);
  std::unique_ptr<Exchange> remote;
  if (!sends.far.empty() || !receives.far.empty()) remote = make_remote(comm, sends.far, receives.far);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  auto segment = segments.lease(part_bytes(sends.near));
  if (!segment) return nullptr;
  write_channels(segments.own(*segment), sends.near);
  MessageMemory memory;
  if (use == SharedUse::copied)
    for (DividedMessages* messages : {&sends, &receives}) messages->near = memory.complete(messages->near);
  auto exchange = std::make_unique<SharedExchange>(segments, segment, std::move(memory), std::move(sends),
                                                   std::move(receives), std::move(remote));
  segments.barrier();
  exchange->find_channels(segments, rank);
  return exchange;
}

}  // namespace trellis
