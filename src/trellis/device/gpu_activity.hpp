#pragma once
/// These numbers count what this process asks of its GPU: kernels, waits of the host, copies between host and
/// GPU. A real GPU and a simulated one count alike, so that tests and benchmarks can hold limits against
/// them.
#include <atomic>
#include <cstdint>

namespace trellis::cuda {

struct Activity {
  int64_t kernels = 0;        ///< each launch counts
  int64_t waits = 0;          ///< the host waits so often for the GPU; a copy to or from the host is one
  int64_t copies = 0;         ///< they are between host and GPU, but for messages between ranks
  int64_t copied_bytes = 0;   ///< those copies have so many bytes
  int64_t message_bytes = 0;  ///< they are copied between host and GPU for messages between ranks
};

namespace detail {
struct ActivityCounters {
  std::atomic<int64_t> kernels{0}, waits{0}, copies{0}, copied_bytes{0}, message_bytes{0};
};
inline ActivityCounters activity_so_far;
}  // namespace detail

/// Returns the counts since the process began.
inline Activity activity() {
  const detail::ActivityCounters& all = detail::activity_so_far;
  return {all.kernels, all.waits, all.copies, all.copied_bytes, all.message_bytes};
}
/// Returns the counts since `before`.
inline Activity activity_since(const Activity& before) {
  const Activity now = activity();
  return {now.kernels - before.kernels, now.waits - before.waits, now.copies - before.copies,
          now.copied_bytes - before.copied_bytes, now.message_bytes - before.message_bytes};
}

inline void count_kernel() { detail::activity_so_far.kernels.fetch_add(1, std::memory_order_relaxed); }
inline void count_wait() { detail::activity_so_far.waits.fetch_add(1, std::memory_order_relaxed); }
inline void count_copy(int64_t bytes) {
  detail::activity_so_far.copies.fetch_add(1, std::memory_order_relaxed);
  detail::activity_so_far.copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
}
inline void count_message_copy(int64_t bytes) {
  detail::activity_so_far.message_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace trellis::cuda
