#pragma once
/// A simulated GPU has its memory in a region of addresses that the host cannot touch outside launches and
/// copies.
#include <cstddef>

namespace trellis::cuda {

/// Device memory can be read and written while one of these lives.
class DeviceMemoryAccess {
 public:
  DeviceMemoryAccess();
  ~DeviceMemoryAccess();
  DeviceMemoryAccess(const DeviceMemoryAccess&) = delete;
  DeviceMemoryAccess& operator=(const DeviceMemoryAccess&) = delete;
};

bool is_device_pointer(const void* pointer);
/// Throws Error if one of the aligned words of an object is the address of mapped memory of the host.
void require_no_host_pointers(const void* object, size_t bytes);

}  // namespace trellis::cuda
