#pragma once
/// Processes of a node can map parts of each other's GPU memory (CUDA's interprocess communication), and
/// kernels and copies of one then reach those of the other. Kernels also reach memory of the host that is
/// mapped for them.
#include <cstddef>

namespace trellis {
/// Adds bytes to gpu_memory_in_use() and memory_in_use() that no Memory holds, and that stay with the
/// process (device/memory.hpp).
void count_memory_of_gpu(size_t bytes);
}  // namespace trellis

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

/// Locks pages of the host, and returns the address by which kernels and copies of this process's GPU reach
/// them. Throws Error where the system locks no more pages. @pre `data` is the beginning of a page of memory
/// that is mapped as shared; nothing else has locked it
void* map_of_host(void* data, size_t bytes);
/// Takes back such an address. @pre nothing that was launched here reaches it any more
void unmap_of_host(void* data, void* mapped, size_t bytes);

/// Processes wait so for each other, or keep out of each other's way. Tests on a simulated GPU leave one of
/// these out, to see whether they find it (device/simulated/peer_waits.hpp); elsewhere none is left out.
enum class PeerWait {
  none,
  for_data,  ///< the receiver waits until the sender has said that its writes have ended
  for_room,  ///< the sender waits until the receiver has said that its reads have ended
  // A launch with flags (view/halo_flags.hpp) has these in their place:
  for_flag,          ///< blocks of the border wait for the flags of messages
  fence_of_block,    ///< a block fences its writes before it counts itself among those that have packed
  fence_of_message,  ///< the last of them fences what it saw before it raises the flag
  second_slot        ///< a message has two slots, which exchanges take in turn
};
bool is_left_out(PeerWait wait);

}  // namespace trellis::cuda
