/// Memory of a CUDA device.
#include "trellis/device/memory.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "trellis/device/cuda/check.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis::cuda {

namespace {
/// Freed blocks wait here for the next field of their size: solvers make the same temporary fields again and
/// again, and cudaMalloc and cudaFree wait for the GPU. What was launched before uses a block before what is
/// launched for its next owner.
class Blocks {
 public:
  /// Null if none of that size waits.
  void* take(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& waiting = freed_[bytes];
    if (waiting.empty()) return nullptr;
    void* block = waiting.back();
    waiting.pop_back();
    held_ -= bytes;
    sizes_[block] = bytes;
    return block;
  }
  void add(void* block, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[block] = bytes;
  }
  void give(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = sizes_.find(block);
    const size_t bytes = at->second;
    sizes_.erase(at);
    if (held_ + bytes > largest_sum) return (void)cudaFree(block);  // at exit the driver may be gone already
    freed_[bytes].push_back(block);
    held_ += bytes;
  }
  void release_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [size, list] : freed_)
      for (void* block : list) (void)cudaFree(block);
    freed_.clear();
    held_ = 0;
  }

 private:
  static constexpr size_t largest_sum = size_t(4) << 30;
  std::mutex mutex_;
  std::unordered_map<void*, size_t> sizes_;
  std::unordered_map<size_t, std::vector<void*>> freed_;
  size_t held_ = 0;
};

/// Never destroyed: fields in static storage outlive it otherwise.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

size_t available_bytes(size_t& total) {
  size_t available = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  return available;
}
}  // namespace

void* allocate(size_t bytes) {
  require_gpu();
  void* data = blocks().take(bytes);
  if (data == nullptr) {
    size_t total = 0;
    if (bytes > available_bytes(total)) blocks().release_all();
    if (const size_t available = available_bytes(total); bytes > available)
      throw MemoryError(message("a field needs ", bytes, " bytes on the GPU; ", available, " of ", total,
                                " are available"));
    check(cudaMalloc(&data, bytes), "cudaMalloc");
    blocks().add(data, bytes);
  }
  set_zero(data, bytes);
  return data;
}

void release(void* data) { blocks().give(data); }

void copy_to_host(void* host, const void* device, size_t bytes) {
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void copy_from_host(void* device, const void* host, size_t bytes) {
  check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

void copy_on_device(void* to, const void* from, size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
}

void copy_rows_on_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t rows) {
  check(cudaMemcpy2D(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDeviceToDevice), "cudaMemcpy2D");
}

void set_zero(void* device, size_t bytes) { check(cudaMemset(device, 0, bytes), "cudaMemset"); }

}  // namespace trellis::cuda
