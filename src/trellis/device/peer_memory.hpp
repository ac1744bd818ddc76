#pragma once
/// Processes of a node can map parts of each other's GPU memory (CUDA's interprocess communication), and
/// kernels and copies of one then reach those of the other.
#include <cstddef>

namespace trellis::cuda {

/// This names memory for other processes. It travels as its bytes.
struct PeerHandle {
  unsigned char bytes[64];
};

/// Returns memory of this process's GPU that others can map, with anything in it. It goes back with the
/// process alone, as another one may still have it mapped: what it is used for may change. Throws
/// MemoryError, or Error where the system lets no memory be shared.
void* allocate_for_peers(size_t bytes, PeerHandle& handle);
/// Maps memory of another process, which has so many bytes. Throws Error where the two GPUs do not reach each
/// other, or the system does not let the processes share memory.
void* map_of_peer(const PeerHandle& handle, size_t bytes);
/// Takes back a mapping. @pre nothing that was launched here reaches it any more
void unmap_of_peer(void* data, size_t bytes);

}  // namespace trellis::cuda
