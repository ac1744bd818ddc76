#include "trellis/device/memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/peer_memory.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
/// This counts the bytes in use, and the most that there were.
class ByteCount {
 public:
  void add(size_t bytes) {
    const size_t now = in_use_ += bytes;
    size_t before = peak_;
    while (now > before && !peak_.compare_exchange_weak(before, now)) {}
  }
  void remove(size_t bytes) { in_use_ -= bytes; }
  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }

 private:
  std::atomic<size_t> in_use_{0}, peak_{0};
};
ByteCount on_host, on_gpu, anywhere;
ByteCount& count_on(Backend backend) { return backend == Backend::cuda ? on_gpu : on_host; }

constexpr size_t huge_page = size_t(2) << 20;

size_t read_number(const char* path, size_t fallback) {
  std::ifstream file(path);
  size_t value;
  return file >> value ? value : fallback;
}

size_t meminfo_available() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
    if (word == "MemAvailable:") {
      size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  return ~size_t(0);
}

void zero(void* data, size_t bytes) {
  constexpr size_t chunk = size_t(1) << 16;
  const int chunks = int((bytes + chunk - 1) / chunk);
  for_each_index(chunks, [&](int i) {
    const size_t begin = size_t(i) * chunk;
    std::memset(static_cast<char*>(data) + begin, 0, std::min(chunk, bytes - begin));
  });
}
}  // namespace

namespace {
/// Freed blocks wait here for the next field of their size: solvers and molecular dynamics make the same
/// temporary fields again and again, and fresh pages cost more than the passes over them. More
/// than `sum_always` waits only while the process, with it, is no larger than its fields once were.
class FreedBlocks {
 public:
  void* take(size_t padded) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(padded);
    if (found == blocks_.end() || found->second.empty()) return nullptr;
    void* block = found->second.back();
    found->second.pop_back();
    held_ -= padded;
    return block;
  }
  /// Takes a block back. `in_use` are the bytes of the fields that are left.
  void give(void* block, size_t padded, size_t in_use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (held_ + padded > sum_always && in_use + held_ + padded > on_host.peak()) return std::free(block);
    blocks_[padded].push_back(block);
    held_ += padded;
  }
  /// Frees what waits here before a field of a new size, where it would make the process larger than it has
  /// been.
  void make_room(size_t padded, size_t in_use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (held_ > sum_always && in_use + held_ + padded > on_host.peak()) release();
  }
  size_t bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }
  /// Gives all back to the system; returns whether there was anything.
  bool release_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool any = held_ > 0;
    release();
    return any;
  }

 private:
  void release() {
    for (auto& [size, list] : blocks_)
      for (void* block : list) std::free(block);
    blocks_.clear();
    held_ = 0;
  }
  static constexpr size_t sum_always = size_t(128) << 20;
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> blocks_;
  size_t held_ = 0;
};

/// Returns the freed blocks. They are never destroyed: fields in static storage outlive them otherwise.
FreedBlocks& freed_blocks() {
  static FreedBlocks& blocks = *new FreedBlocks;
  return blocks;
}

size_t alignment_of(size_t bytes) { return bytes >= huge_page ? huge_page : 64; }
size_t padded_size(size_t bytes) {
  const size_t alignment = alignment_of(bytes);
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Returns new memory, or null if the machine has no more.
void* new_block(size_t bytes, size_t padded) {
  freed_blocks().make_room(padded, on_host.in_use());
  if (bytes >= huge_page) {
    if (bytes > memory_available()) freed_blocks().release_all();
    require_memory(bytes, "a field");
  }
  void* block = std::aligned_alloc(alignment_of(bytes), padded);
  if (block == nullptr && freed_blocks().release_all())
    block = std::aligned_alloc(alignment_of(bytes), padded);
  if (block != nullptr && bytes >= huge_page) madvise(block, padded, MADV_HUGEPAGE);
  return block;
}
}  // namespace

size_t memory_in_use() { return anywhere.in_use(); }
size_t memory_peak() { return anywhere.peak(); }
size_t gpu_memory_in_use() { return on_gpu.in_use(); }
size_t gpu_memory_peak() { return on_gpu.peak(); }
void count_memory_of_gpu(size_t bytes) {
  on_gpu.add(bytes);
  anywhere.add(bytes);
}
size_t memory_waiting() { return freed_blocks().bytes(); }

size_t memory_available() {
  const size_t machine = meminfo_available();
  const size_t limit = read_number("/sys/fs/cgroup/memory.max", ~size_t(0));
  if (limit == ~size_t(0)) return machine;
  const size_t used = read_number("/sys/fs/cgroup/memory.current", 0);
  return std::min(machine, limit > used ? limit - used : 0);
}

void require_memory(size_t bytes, const char* purpose) {
  const size_t available = memory_available();
  if (bytes > available)
    throw MemoryError(
        message(purpose, " needs ", bytes, " bytes on this rank; ", available, " are available"));
}

Memory::Memory(size_t bytes, Backend backend) : Memory(bytes, backend, true) {}

Memory Memory::to_be_written(size_t bytes, Backend backend) { return {bytes, backend, false}; }

Memory::Memory(size_t bytes, Backend backend, bool is_zeroed) : bytes_{bytes}, backend_{backend} {
  if (bytes == 0) return;
  if (backend == Backend::cuda) {
    data_ = is_zeroed ? cuda::allocate(bytes) : cuda::allocate_unset(bytes);
  } else {
    const size_t padded = padded_size(bytes);
    data_ = freed_blocks().take(padded);
    if (data_ == nullptr) data_ = new_block(bytes, padded);
    if (data_ == nullptr) throw MemoryError(message("allocation of ", bytes, " bytes failed"));
    zero(data_, bytes);  // this is done in any case: pages go to the threads that touch them first
  }
  count_on(backend).add(bytes);
  anywhere.add(bytes);
}

void Memory::release() {
  if (data_ == nullptr) return;
  count_on(backend_).remove(bytes_);
  anywhere.remove(bytes_);
  if (backend_ == Backend::cuda)
    cuda::release(data_);
  else
    freed_blocks().give(data_, padded_size(bytes_), on_host.in_use());
  data_ = nullptr;
  bytes_ = 0;
}

Memory::~Memory() { release(); }

Memory::Memory(Memory&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)},
      bytes_{std::exchange(other.bytes_, 0)},
      backend_{other.backend_} {}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  backend_ = other.backend_;
  return *this;
}

void Memory::copy_to_host(void* host, size_t bytes) const {
  TRELLIS_REQUIRE(bytes <= bytes_, "copy of ", bytes, " bytes out of ", bytes_);
  if (bytes == 0) return;
  if (backend_ == Backend::cuda)
    cuda::copy_to_host(host, data_, bytes);
  else
    std::memcpy(host, data_, bytes);
}

void Memory::copy_from_host(const void* host, size_t bytes) {
  TRELLIS_REQUIRE(bytes <= bytes_, "copy of ", bytes, " bytes into ", bytes_);
  if (bytes == 0) return;
  if (backend_ == Backend::cuda)
    cuda::copy_from_host(data_, host, bytes);
  else
    std::memcpy(data_, host, bytes);
}

void Memory::copy_from(const Memory& other) {
  TRELLIS_REQUIRE(other.bytes_ == bytes_ && other.backend_ == backend_, "copy between memories of ",
                  other.bytes_, " and ", bytes_, " bytes");
  if (bytes_ == 0) return;
  if (backend_ == Backend::cuda)
    cuda::copy_on_device(data_, other.data_, bytes_);
  else
    std::memcpy(data_, other.data_, bytes_);
}

void Memory::set_zero() {
  if (bytes_ == 0) return;
  if (backend_ == Backend::cuda)
    cuda::set_zero(data_, bytes_);
  else
    std::memset(data_, 0, bytes_);
}

}  // namespace trellis
