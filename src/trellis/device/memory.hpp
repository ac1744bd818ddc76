#pragma once
/// A field owns 64-byte aligned memory, zeroed by the threads that will use it. Every allocation is counted
/// and checked against what the machine has.
#include <cstddef>

#include "trellis/base/precision.hpp"

namespace trellis {

class Memory {
 public:
  Memory() = default;
  /// Makes zeroed memory. Throws MemoryError (needed, available) before it would exhaust the machine.
  explicit Memory(size_t bytes, Backend backend = Backend::cpu);
  /// Makes memory whose owner writes all of it before anything is read: on a GPU it is not zeroed.
  static Memory to_be_written(size_t bytes, Backend backend);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() { return data_; }
  const void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Backend backend() const { return backend_; }

  /// Copies the first `bytes` bytes to or from host memory, whatever the backend is.
  void copy_to_host(void* host, size_t bytes) const;
  void copy_from_host(const void* host, size_t bytes);
  void copy_from(const Memory& other);  ///< @pre same size and backend
  void set_zero();

 private:
  Memory(size_t bytes, Backend backend, bool is_zeroed);
  void release();
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Backend backend_ = Backend::cpu;
};

/// This is the memory of a CUDA device; every function throws NotAvailable in a build without CUDA.
namespace cuda {
void* allocate(size_t bytes);        ///< it is zeroed
void* allocate_unset(size_t bytes);  ///< it comes with anything in it
void release(void* data);
void copy_to_host(void* host, const void* device, size_t bytes);
void copy_from_host(void* device, const void* host, size_t bytes);
void copy_on_device(void* to, const void* from, size_t bytes);
void set_zero(void* device, size_t bytes);
}  // namespace cuda

/// All Memory objects of this process hold so many bytes, on the host and on its GPU, now and at most.
size_t memory_in_use();
size_t memory_peak();
/// Returns the bytes on its GPU alone.
size_t gpu_memory_in_use();
size_t gpu_memory_peak();
/// Returns the bytes of freed memory that waits for the next field of its size. More than 128 MiB of it waits
/// only as long as this process stays no larger than its fields once were.
size_t memory_waiting();
/// Returns the bytes that this machine (or its container) can still give.
size_t memory_available();
/// Throws MemoryError if `bytes` more cannot be had; `purpose` names what needs them.
void require_memory(size_t bytes, const char* purpose);

}  // namespace trellis
