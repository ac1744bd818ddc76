#include "trellis/device/memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
std::atomic<size_t> in_use{0}, peak{0};
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

size_t memory_in_use() { return in_use; }
size_t memory_peak() { return peak; }

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
    throw MemoryError(message(purpose, " needs ", bytes, " bytes on this rank; ", available, " are available"));
}

Memory::Memory(size_t bytes, Backend backend) : bytes_{bytes} {
  if (backend == Backend::cuda) throw NotAvailable("this build has no CUDA backend");
  if (bytes == 0) return;
  if (bytes >= huge_page) require_memory(bytes, "a field");
  const size_t alignment = bytes >= huge_page ? huge_page : 64;
  const size_t padded = (bytes + alignment - 1) / alignment * alignment;
  data_ = std::aligned_alloc(alignment, padded);
  if (data_ == nullptr) throw MemoryError(message("allocation of ", bytes, " bytes failed"));
  if (bytes >= huge_page) madvise(data_, padded, MADV_HUGEPAGE);
  zero(data_, padded);
  const size_t now = in_use += bytes;
  size_t before = peak;
  while (now > before && !peak.compare_exchange_weak(before, now)) {
  }
}

void Memory::release() {
  if (data_ == nullptr) return;
  std::free(data_);
  in_use -= bytes_;
  data_ = nullptr;
  bytes_ = 0;
}

Memory::~Memory() { release(); }

Memory::Memory(Memory&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

}  // namespace trellis
