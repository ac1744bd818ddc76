/// A build without the cuda backend has its functions here.
#ifndef TRELLIS_WITH_CUDA
#include "trellis/base/error.hpp"
#include "trellis/device/flagged_exchange.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/device/peer_memory.hpp"

namespace trellis::cuda {

void* allocate(size_t) {
  require_gpu();
  return nullptr;
}
void* allocate_unset(size_t bytes) { return allocate(bytes); }
void release(void*) {}
void copy_to_host(void*, const void*, size_t) { require_gpu(); }
void copy_from_host(void*, const void*, size_t) { require_gpu(); }
void copy_on_device(void*, const void*, size_t) { require_gpu(); }
void copy_rows_on_device(void*, size_t, const void*, size_t, size_t, size_t) { require_gpu(); }
void set_zero(void*, size_t) { require_gpu(); }

std::vector<Gpu> gpus() { return {}; }
int gpu_of_this_process() { return 0; }
const std::string& name_of_this_gpu() {
  static const std::string none;
  require_gpu();
  return none;
}
std::string why_no_gpu() { return "this build has no CUDA backend (./bootstrap build --cuda)"; }
void require_gpu() { throw NotAvailable(why_no_gpu()); }
void synchronize() {}
void start_launch_timer() { require_gpu(); }
double stop_launch_timer() {
  require_gpu();
  return 0;
}

void* allocate_for_peers(size_t bytes, PeerHandle&) { return allocate(bytes); }
void* map_of_peer(const PeerHandle&, size_t bytes) { return allocate(bytes); }
void unmap_of_peer(void*, size_t) {}
void* map_of_host(void*, size_t bytes) { return allocate(bytes); }
void unmap_of_host(void*, void*, size_t) {}
bool is_left_out(PeerWait) { return false; }
void exchange_with_flags(HaloFlags, std::span<const FlaggedMessage>) { require_gpu(); }

PinnedMemory::PinnedMemory(size_t bytes) : bytes_{bytes} { require_gpu(); }
PinnedMemory::~PinnedMemory() = default;

struct Stream::Handles {};
Stream::Stream() { require_gpu(); }
Stream::~Stream() = default;
void Stream::follow_main() {}
void Stream::precede_main() {}
void Stream::wait() {}
void Stream::copy_to_host(void*, const void*, size_t) { require_gpu(); }
void Stream::copy_from_host(void*, const void*, size_t) { require_gpu(); }
Stream::Scope::Scope(const Stream&) : before_{nullptr} {}
Stream::Scope::~Scope() = default;

}  // namespace trellis::cuda
#endif
