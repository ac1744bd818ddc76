#pragma once
/// Kernels of a GPU read and write memory of the host by these.
#include <sys/mman.h>

#include <cstddef>

#include "trellis/base/error.hpp"
#include "trellis/device/peer_memory.hpp"

namespace trellis {

/// Kernels reach memory of the host as long as this lives. @pre as cuda::map_of_host()
class HostForKernels {
 public:
  HostForKernels(void* data, size_t bytes)
      : data_{data}, mapped_{cuda::map_of_host(data, bytes)}, bytes_{bytes} {}
  ~HostForKernels() { cuda::unmap_of_host(data_, mapped_, bytes_); }
  HostForKernels(const HostForKernels&) = delete;
  HostForKernels& operator=(const HostForKernels&) = delete;
  /// Returns its address for kernels.
  void* mapped() const { return mapped_; }

 private:
  void *data_, *mapped_;
  size_t bytes_;
};

/// This is memory of the host of its own that kernels reach.
class PagesForKernels {
 public:
  explicit PagesForKernels(size_t bytes) : pages_{bytes}, for_kernels_{pages_.data, bytes} {}
  void* data() const { return pages_.data; }
  void* mapped() const { return for_kernels_.mapped(); }

 private:
  struct Pages {
    explicit Pages(size_t size)
        : bytes{size}, data{mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
      if (data == MAP_FAILED) throw MemoryError(message("mmap of ", size, " bytes for messages failed"));
    }
    ~Pages() { munmap(data, bytes); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    size_t bytes;
    void* data;
  } pages_;
  HostForKernels for_kernels_;
};

}  // namespace trellis
