#include "trellis/base/stop.hpp"

#include <atomic>

namespace trellis {

namespace {
std::atomic<bool> request_waits{false}, stop_is_agreed{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
StopHooks hooks_of_process;

/// Most calls find nothing, and then write nothing.
bool take(std::atomic<bool>& flag) { return flag.load(std::memory_order_relaxed) && flag.exchange(false); }
}  // namespace

bool request_stop() noexcept { return !request_waits.exchange(true); }

void stop_point() {
  if (take(stop_is_agreed)) throw Interrupted();
}

bool take_agreed_stop() noexcept { return take(stop_is_agreed); }

bool take_stop_request() {
  if (hooks_of_process.is_wanted != nullptr && hooks_of_process.is_wanted()) request_waits = true;
  return take(request_waits);
}

void agree_to_stop() {
  stop_is_agreed = true;
  if (hooks_of_process.is_agreed != nullptr) hooks_of_process.is_agreed();
}

void set_stop_hooks(const StopHooks& hooks) { hooks_of_process = hooks; }

}  // namespace trellis
