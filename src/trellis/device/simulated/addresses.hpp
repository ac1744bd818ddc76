#pragma once
/// Device memory of a simulated GPU has these addresses.
#include <cstddef>

namespace trellis::cuda {

/// Returns true while a DeviceMemoryAccess lives.
bool is_device_memory_accessible();
/// Returns addresses of device memory that nothing has had, of whole pages.
char* reserve_addresses(size_t bytes);

}  // namespace trellis::cuda
