#include "trellis/comm/transport/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Returns what a system call says of its failure.
std::string failure_of(const char* call) { return message(call, ": ", std::strerror(errno)); }

/// Other processes can map these pages while this is alive.
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

/// Returns null where it fails, with the reason in `failure`.
char* map(int descriptor, size_t bytes, std::string& failure) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data != MAP_FAILED) return static_cast<char*>(data);
  failure = failure_of("mmap");
  return nullptr;
}

/// Maps memory of another process. Returns null with a failure: processes of another name space of
/// identifiers, say, are not who they seem to be.
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

/// Returns a number that no other memory begins with.
uint64_t token() { return std::bit_cast<uint64_t>(seconds_now()) * 0x9e3779b97f4a7c15u ^ uint64_t(getpid()); }

}  // namespace

namespace {
/// Memory of this process's GPU that others have mapped, perhaps to this day, is kept for later segments:
/// nothing is written there any more, as every exchange with it has ended here.
struct KeptPart {
  size_t bytes;
  char* data;
  cuda::PeerHandle handle;
};
std::vector<KeptPart>& kept_parts() {
  static std::vector<KeptPart>& parts = *new std::vector<KeptPart>;  // it outlives static communicators
  return parts;
}

/// Returns a kept part of at least this size, or a new one. Throws as cuda::allocate_for_peers().
KeptPart part_on_gpu(size_t bytes) {
  std::vector<KeptPart>& parts = kept_parts();
  const auto fits = [bytes](const KeptPart& part) { return part.bytes >= bytes; };
  if (const auto found = std::find_if(parts.begin(), parts.end(), fits); found != parts.end()) {
    const KeptPart part = *found;
    parts.erase(found);
    return part;
  }
  KeptPart part{bytes, nullptr, {}};
  part.data = static_cast<char*>(cuda::allocate_for_peers(bytes, part.handle));
  return part;
}
}  // namespace

NodeMemory::Segment::~Segment() {
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank] == nullptr) continue;
    if (backend != Backend::cuda)
      munmap(parts[rank], bytes);
    else if (int(rank) != own)
      cuda::unmap_of_peer(parts[rank], bytes);
    else
      kept_parts().push_back({bytes, parts[rank], handle});
  }
}

NodeMemory::NodeMemory(Communicator& all) : node_{all.node()}, node_rank_(size_t(all.size()), -1) {
  const std::vector<int> ranks = node_->allgather(all.rank());
  for (size_t i = 0; i < ranks.size(); ++i) node_rank_[size_t(ranks[i])] = int(i);
}

bool NodeMemory::agree(const std::string& failure) {
  failure_ = node_->first_error(failure).text;
  return failure_.empty();
}

/// Makes a file in memory for each rank, which the others open as their peer's (/proc/PID/fd): no name in
/// /dev/shm is left behind by a killed process, and no window of MPI is asked for, whose creation hangs on
/// some ranks where another finds /dev/shm full.
std::shared_ptr<NodeMemory::Segment> NodeMemory::make_on_host(size_t bytes) {
  struct Part {
    int64_t pid, file;
    uint64_t token;
  };
  const int own_rank = node_->rank(), ranks = node_->size();
  auto segment = std::make_shared<Segment>(bytes, size_t(ranks), Backend::cpu);
  MemoryFile file(bytes);
  if (!agree(file.failure())) return nullptr;
  const Part own{getpid(), file.descriptor(), token()};
  const std::vector<Part> parts = node_->allgather(own);
  std::string failure;
  segment->parts[size_t(own_rank)] = map(file.descriptor(), bytes, failure);
  if (failure.empty()) std::memcpy(segment->parts[size_t(own_rank)], &own.token, sizeof(own.token));
  if (!agree(failure)) return nullptr;  // the tokens are written, too
  for (int rank = 0; rank < ranks && failure.empty(); ++rank) {
    if (rank == own_rank) continue;
    const Part& part = parts[size_t(rank)];
    segment->parts[size_t(rank)] = map_of_process(part.pid, part.file, bytes, part.token, failure);
  }
  if (!agree(failure)) return nullptr;  // nobody needs the descriptors any more
  return segment;
}

namespace {
/// Runs f() and returns what it throws.
template <class F>
std::string failure_in(const F& f) {
  try {
    f();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}
}  // namespace

std::shared_ptr<NodeMemory::Segment> NodeMemory::make_on_gpus(size_t bytes) {
  const int own_rank = node_->rank(), ranks = node_->size();
  auto segment = std::make_shared<Segment>(bytes, size_t(ranks), Backend::cuda);
  segment->own = own_rank;
  if (!agree(failure_in([&] {
        const KeptPart own = part_on_gpu(bytes);
        segment->parts[size_t(own_rank)] = own.data;
        segment->handle = own.handle;
      })))
    return nullptr;
  const std::vector<cuda::PeerHandle> handles = node_->allgather(segment->handle);
  if (!agree(failure_in([&] {
        for (int rank = 0; rank < ranks; ++rank)
          if (rank != own_rank)
            segment->parts[size_t(rank)] =
                static_cast<char*>(cuda::map_of_peer(handles[size_t(rank)], bytes));
      })))
    return nullptr;
  return segment;
}

std::shared_ptr<NodeMemory::Segment> NodeMemory::lease(size_t bytes, Backend backend) {
  // Each of the first 64 segments has one bit, which is set where the segment is free and large
  // enough on all ranks.
  struct Wish {
    uint64_t usable, bytes;
  };
  Wish wish{0, bytes};
  for (size_t i = 0; i < std::min<size_t>(segments_.size(), 64); ++i)
    if (!segments_[i]->is_leased && segments_[i]->backend == backend && segments_[i]->bytes >= bytes)
      wish.usable |= uint64_t(1) << i;
  for (const Wish& other : node_->allgather(wish))
    wish = {wish.usable & other.usable, std::max(wish.bytes, other.bytes)};
  if (wish.usable == 0) {
    const size_t whole_pages = (std::max<size_t>(wish.bytes, 1) + 4095) / 4096 * 4096;
    auto segment = backend == Backend::cuda ? make_on_gpus(whole_pages) : make_on_host(whole_pages);
    if (!segment) return nullptr;
    segments_.push_back(std::move(segment));
  }
  const size_t index = wish.usable == 0 ? segments_.size() - 1 : size_t(std::countr_zero(wish.usable));
  const std::shared_ptr<Segment> leased = segments_[index];
  leased->is_leased = true;
  return {leased.get(), [leased](Segment* segment) { segment->is_leased = false; }};
}

}  // namespace trellis
