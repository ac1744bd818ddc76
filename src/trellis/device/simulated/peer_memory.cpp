/// Simulated GPUs of several processes have memory that they reach together: a file in memory for each part.
#include "trellis/device/peer_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>

#include "trellis/base/error.hpp"
#include "trellis/device/simulated/addresses.hpp"
#include "trellis/device/simulated/peer_waits.hpp"
#include "trellis/device/simulated/windows.hpp"

namespace trellis::cuda {

namespace {
/// A handle of simulated memory has this: other processes open the file as that of its process.
struct SharedFile {
  int64_t process;
  int file;
};
static_assert(sizeof(SharedFile) <= sizeof(PeerHandle));

size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/// The windows onto memory of peers show these addresses of the host.
std::map<void*, void*>& targets() {
  static std::map<void*, void*>& all = *new std::map<void*, void*>;  // it outlives static communicators
  return all;
}
}  // namespace

void* allocate_for_peers(size_t bytes, PeerHandle& handle) {
  const int file = memfd_create("trellis_simulated_gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(whole_pages(bytes))) != 0)
    throw Error(message("memory for peers: ", std::strerror(errno)));
  const SharedFile own{getpid(), file};
  std::memcpy(&handle, &own, sizeof(own));
  char* const data = reserve_addresses(bytes);
  if (mmap(data, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != data)
    throw Error(message("mmap of memory for peers: ", std::strerror(errno)));
  std::memset(data, 0xff, whole_pages(bytes));  // whoever reads before it was written finds NaN
  if (!is_device_memory_accessible()) (void)mprotect(data, whole_pages(bytes), PROT_NONE);
  count_memory_of_gpu(whole_pages(bytes));
  return data;
}

void* map_of_peer(const PeerHandle& handle, size_t bytes) {
  SharedFile found;
  std::memcpy(&found, &handle, sizeof(found));
  const std::string path = message("/proc/", found.process, "/fd/", found.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw Error(message(path, ": ", std::strerror(errno)));
  void* const target = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int code = errno;
  close(file);
  if (target == MAP_FAILED) throw Error(message("mmap of memory of peers: ", std::strerror(code)));
  void* const window = simulated::open_window(target, whole_pages(bytes));
  targets()[window] = target;
  return window;
}

void unmap_of_peer(void* data, size_t bytes) {
  simulated::close_window(data);
  const auto target = targets().find(data);
  if (target == targets().end()) return;
  (void)munmap(target->second, whole_pages(bytes));
  targets().erase(target);
}

void* map_of_host(void* data, size_t bytes) { return simulated::open_window(data, bytes); }
void unmap_of_host(void*, void* mapped, size_t) { simulated::close_window(mapped); }

namespace simulated {
namespace {
PeerWait left_out = PeerWait::none;
}
void leave_out(PeerWait wait) { left_out = wait; }
}  // namespace simulated

bool is_left_out(PeerWait wait) { return wait != PeerWait::none && wait == simulated::left_out; }

}  // namespace trellis::cuda
