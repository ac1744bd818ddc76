#pragma once
/// Counts what this process copies between the host and a GPU outside messages of halos: a part of a run that
/// says that it stays on the GPU is held to it by this.
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trellis::cuda {

struct CopiedBytes {
  int64_t to_host = 0, from_host = 0;
  int64_t both() const { return to_host + from_host; }
};

namespace detail {
inline std::atomic<int64_t> bytes_to_host{0}, bytes_from_host{0};
}

inline void count_copy_to_host(size_t bytes) { detail::bytes_to_host += int64_t(bytes); }
inline void count_copy_from_host(size_t bytes) { detail::bytes_from_host += int64_t(bytes); }

/// Since the process began.
inline CopiedBytes copied_bytes() { return {detail::bytes_to_host, detail::bytes_from_host}; }

}  // namespace trellis::cuda
