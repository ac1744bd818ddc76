#include "trellis/device/simulated/windows.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/simulated/addresses.hpp"

namespace trellis::cuda::simulated {

namespace {
constexpr size_t page = 4096;
constexpr size_t most_of_part = 64;  ///< bytes arrive together: a store of a warp has twice as many

struct Window {
  char *device, *target;
  size_t bytes;
  std::vector<char> before;  ///< it had this when the present piece began
};

/// These bytes are on their way.
struct Part {
  Window* window;
  size_t offset;
  std::vector<char> data;
  int queue;
  uint64_t piece;
  WriteOrder order = {};
  bool is_fenced = false;
};

struct Windows {
  std::vector<std::unique_ptr<Window>> windows;
  std::vector<Part> parts;  ///< in the order in which they were written
  bool is_delayed = false;
};
Windows& all_windows() {
  static Windows& all = *new Windows;  // it outlives fields in static storage
  return all;
}

size_t whole_pages(size_t bytes) { return (bytes + page - 1) / page * page; }
int protection() { return is_device_memory_accessible() ? PROT_READ | PROT_WRITE : PROT_NONE; }

void require(bool is_true, const char* call) {
  if (!is_true) throw Error(message("a window of the simulated GPU, ", call, ": ", std::strerror(errno)));
}

/// Puts fresh pages at the addresses of a window.
void give_own_pages(const Window& window) {
  require(mmap(window.device, whole_pages(window.bytes), protection(),
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == window.device,
          "mmap");
}
/// Puts the pages of the target there, too: with an old size of 0 this maps shared pages a second time.
void give_pages_of_target(const Window& window) {
  const size_t bytes = whole_pages(window.bytes);
  require(mremap(window.target, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, window.device) == window.device,
          "mremap");
  require(mprotect(window.device, bytes, protection()) == 0, "mprotect");
}

void arrive(const Part& part) {
  std::memcpy(part.window->target + part.offset, part.data.data(), part.data.size());
}

/// Lets the parts that `is_chosen` takes arrive, in random order.
template <class F>
void deliver_chosen(const F& is_chosen, uint64_t (*random)()) {
  std::vector<Part>& parts = all_windows().parts;
  const auto chosen =
      std::stable_partition(parts.begin(), parts.end(), [&](const Part& part) { return !is_chosen(part); });
  for (auto last = parts.end(); last != chosen; --last) {
    std::swap(*(last - 1), *(chosen + std::ptrdiff_t(random() % uint64_t(last - chosen))));
    arrive(*(last - 1));
  }
  parts.erase(chosen, parts.end());
}

/// Puts the bytes that a piece has changed on their way, in parts of at most `most_of_part`.
void take_writes_of(Window& window, int queue, uint64_t piece, const WriteOrder& order = {}) {
  for (size_t at = 0; at < window.bytes; at += most_of_part) {
    const size_t end = std::min(at + most_of_part, window.bytes);
    if (std::memcmp(window.device + at, &window.before[at], end - at) == 0) continue;
    size_t first = at, last = end;
    while (window.device[first] == window.before[first]) ++first;
    while (window.device[last - 1] == window.before[last - 1]) --last;
    // Bytes between that were not changed have the value that is on its way, or there.
    all_windows().parts.push_back(
        {&window, first, {window.device + first, window.device + last}, queue, piece, order});
    std::copy(window.device + first, window.device + last, window.before.begin() + std::ptrdiff_t(first));
  }
}
}  // namespace

void* open_window(void* target, size_t bytes) {
  auto window = std::make_unique<Window>();
  *window = {reserve_addresses(bytes), static_cast<char*>(target), bytes, {}};
  all_windows().is_delayed ? give_own_pages(*window) : give_pages_of_target(*window);
  all_windows().windows.push_back(std::move(window));
  return all_windows().windows.back()->device;
}

void close_window(void* data) {
  std::vector<std::unique_ptr<Window>>& windows = all_windows().windows;
  const auto found =
      std::find_if(windows.begin(), windows.end(), [data](const auto& w) { return w->device == data; });
  if (found == windows.end()) return;
  const Window* const window = found->get();
  for (const Part& part : all_windows().parts)
    if (part.window == window) arrive(part);
  std::erase_if(all_windows().parts, [window](const Part& part) { return part.window == window; });
  give_own_pages(*window);
  windows.erase(found);
}

void delay_writes(bool is_delayed) {
  if (all_windows().is_delayed == is_delayed) return;
  all_windows().is_delayed = is_delayed;
  for (const auto& window : all_windows().windows)
    is_delayed ? give_own_pages(*window) : give_pages_of_target(*window);
}

void read_windows() {
  for (const auto& window : all_windows().windows) std::memcpy(window->device, window->target, window->bytes);
  for (const Part& part : all_windows().parts)  // a process sees its own writes
    std::memcpy(part.window->device + part.offset, part.data.data(), part.data.size());
  for (const auto& window : all_windows().windows)
    window->before.assign(window->device, window->device + window->bytes);
}

void take_writes(int queue, uint64_t piece) {
  for (const auto& window : all_windows().windows) take_writes_of(*window, queue, piece);
}

void take_writes_of_block(const WriteOrder& order) {
  constexpr int no_queue = -1;
  for (const auto& window : all_windows().windows) take_writes_of(*window, no_queue, 0, order);
}

void fence_writes(uint64_t block) {
  for (Part& part : all_windows().parts)
    if (part.order.block == block) part.is_fenced = true;
}

bool deliver_in_order(double chance, uint64_t (*random)()) {
  const std::vector<Part>& parts = all_windows().parts;
  const auto has_to_wait = [&parts](const Part& flag) {
    for (const Part* before = parts.data(); before != &flag; ++before)
      if (before->is_fenced && (flag.order.sees_all || before->order.block == flag.order.block)) return true;
    return false;
  };
  std::vector<bool> arrives;
  for (const Part& part : parts)
    arrives.push_back(double(random() >> 11) * 0x1p-53 < chance &&
                      !(part.order.is_flag && has_to_wait(part)));
  std::vector<Part> now, later;
  for (size_t i = 0; i < arrives.size(); ++i)
    (arrives[i] ? now : later).push_back(std::move(all_windows().parts[i]));
  all_windows().parts = std::move(later);
  for (size_t left = now.size(); left > 0; --left) {
    std::swap(now[left - 1], now[random() % left]);
    arrive(now[left - 1]);
  }
  return !all_windows().parts.empty();
}

void deliver_some(double chance, uint64_t (*random)()) {
  if (all_windows().parts.empty()) return;
  deliver_chosen([&](const Part&) { return double(random() >> 11) * 0x1p-53 < chance; }, random);
}

void deliver(const std::map<int, uint64_t>& over, uint64_t (*random)()) {
  deliver_chosen(
      [&](const Part& part) {
        const auto found = over.find(part.queue);
        return found != over.end() && part.piece < found->second;
      },
      random);
}

}  // namespace trellis::cuda::simulated
