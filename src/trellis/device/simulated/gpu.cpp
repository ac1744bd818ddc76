/// This GPU is simulated on the host, for machines without one: the dispatch, tables, halos and copies of the
/// cuda backend run as they are, the launches are loops.
#include "trellis/device/gpu.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/device/simulated/addresses.hpp"
#include "trellis/device/simulated/for_each_site.hpp"
#include "trellis/device/simulated/queues.hpp"

namespace trellis::cuda {

namespace {
// A change of protection takes time for each page, which is less for huge ones.
constexpr size_t region_bytes = size_t(1) << 36, page = 4096, huge_page = size_t(1) << 21;
char* const region = reinterpret_cast<char*>(size_t(0x200000000000));
size_t used = 0;
int accesses = 0;
thread_local double timer_start = 0;
std::map<void*, size_t>& allocations = *new std::map<void*, size_t>;  // it outlives static fields
std::multimap<size_t, void*>& free_blocks = *new std::multimap<size_t, void*>;

void protect(int protection) {
  const size_t bytes = (used + huge_page - 1) / huge_page * huge_page;
  if (used > 0 && mprotect(region, bytes, protection) != 0) throw Error("mprotect failed");
}

bool has_reserved() {
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  if (mmap(region, region_bytes, PROT_NONE, kind, -1, 0) != region) return false;
  (void)madvise(region, region_bytes, MADV_HUGEPAGE);
  return true;
}
void reserve() {
  static const bool reserved = has_reserved();
  if (!reserved) throw Error("the simulated GPU cannot reserve its addresses");
}

void require_device(const void* pointer) {
  if (!is_device_pointer(pointer)) throw Error("a copy to or from the device was given a host pointer");
}
void require_host(const void* pointer) {
  if (is_device_pointer(pointer)) throw Error("a copy to or from the host was given a device pointer");
}
}  // namespace

bool is_device_memory_accessible() { return accesses > 0; }

char* reserve_addresses(size_t bytes) {
  reserve();
  const size_t rounded = (bytes + page - 1) / page * page;
  if (used + rounded > region_bytes) throw MemoryError("the simulated GPU is full");
  char* const data = region + used;
  used += rounded;
  return data;
}

DeviceMemoryAccess::DeviceMemoryAccess() {
  if (accesses++ == 0) protect(PROT_READ | PROT_WRITE);
}
DeviceMemoryAccess::~DeviceMemoryAccess() {
  if (--accesses == 0) protect(PROT_NONE);
}

bool is_device_pointer(const void* pointer) {
  const char* p = static_cast<const char*>(pointer);
  return p >= region && p < region + region_bytes;
}

/// Refuses pointers to the host. User addresses begin with 0x55 to 0x7f and have 48 bits; no double that a
/// kernel takes, and no pair of small integers, looks like that.
void require_no_host_pointers(const void* object, size_t bytes) {
  for (size_t at = 0; at + 8 <= bytes; at += 8) {
    size_t word;
    std::memcpy(&word, static_cast<const char*>(object) + at, 8);
    if (word < size_t(0x550000000000) || word >= size_t(0x800000000000)) continue;
    unsigned char resident;
    if (mincore(reinterpret_cast<void*>(word / page * page), 1, &resident) == 0)
      throw Error(message("a launch was given a host pointer, in byte ", at, " of ", bytes));
  }
}

namespace {
/// Puts NaN in every number, so that whoever reads before it writes is found: at once in memory that nobody
/// had, else behind what the main queue does with it for its last owner.
void poison(void* data, size_t bytes, bool is_new) {
  const auto fill = [=] { std::memset(data, 0xff, bytes); };
  if (!is_new) return simulated::submit(simulated::main_queue, fill);
  const DeviceMemoryAccess access;
  fill();
}
}  // namespace

/// Returns memory with anything in it. Memory is made and freed in the order of the main queue; a launch of
/// another queue comes after.
void* allocate_unset(size_t bytes) {
  const size_t rounded = (bytes + page - 1) / page * page;
  void* data;
  const auto at = free_blocks.find(rounded);
  const bool is_new = at == free_blocks.end();
  if (!is_new) {
    data = at->second;
    free_blocks.erase(at);
  } else {
    data = reserve_addresses(rounded);
  }
  allocations[data] = rounded;
  poison(data, bytes, is_new);
  if (const int own = simulated::launch_queue(); own != simulated::main_queue)
    simulated::order_behind(own, simulated::main_queue);
  return data;
}

void* allocate(size_t bytes) {
  void* data = allocate_unset(bytes);
  set_zero(data, bytes);
  return data;
}

void release(void* data) {
  const auto at = allocations.find(data);
  if (at == allocations.end()) return;
  if (const int own = simulated::launch_queue(); own != simulated::main_queue)
    simulated::order_behind(simulated::main_queue, own);
  free_blocks.emplace(at->second, data);
  allocations.erase(at);
}

void copy_to_host(void* host, const void* device, size_t bytes) {
  require_device(device);
  require_host(host);
  count_copy(int64_t(bytes));
  count_wait();
  simulated::submit(simulated::launch_queue(), [=] { std::memcpy(host, device, bytes); });
  simulated::wait_for(simulated::launch_queue());
}
void copy_from_host(void* device, const void* host, size_t bytes) {
  require_device(device);
  require_host(host);
  count_copy(int64_t(bytes));
  count_wait();
  simulated::submit(simulated::launch_queue(), [=] { std::memcpy(device, host, bytes); });
  simulated::wait_for(simulated::launch_queue());
}
void copy_on_device(void* to, const void* from, size_t bytes) {
  copy_rows_on_device(to, bytes, from, bytes, bytes, 1);
}
void copy_rows_on_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t rows) {
  require_device(to);
  require_device(from);
  simulated::submit(simulated::launch_queue(), [=] {
    for (size_t row = 0; row < rows; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                  width);
  });
}
void set_zero(void* device, size_t bytes) {
  require_device(device);
  simulated::submit(simulated::launch_queue(), [=] { std::memset(device, 0, bytes); });
}

std::vector<Gpu> gpus() { return {{"simulated on the host", "0.0", region_bytes, region_bytes - used}}; }
int gpu_of_this_process() { return 0; }
const std::string& name_of_this_gpu() {
  static const std::string name = gpus().front().name;
  return name;
}
std::string why_no_gpu() { return ""; }
void require_gpu() {}
void synchronize() {
  count_wait();
  simulated::wait_for_all();
}
void start_launch_timer() { timer_start = seconds_now(); }
double stop_launch_timer() {
  simulated::wait_for(simulated::launch_queue());
  return seconds_now() - timer_start;
}

PinnedMemory::PinnedMemory(size_t bytes) : data_{std::calloc(bytes > 0 ? bytes : 1, 1)}, bytes_{bytes} {}
PinnedMemory::~PinnedMemory() {
  simulated::wait_for_all();  // cudaFreeHost does so, too
  std::free(data_);
}

struct Stream::Handles {
  int queue = simulated::make_queue();
  ~Handles() { simulated::remove_queue(queue); }
};
Stream::Stream() : handles_{std::make_unique<Handles>()} {}
Stream::~Stream() = default;
void Stream::follow_main() {
  if (!simulated::is_left_out(simulated::StreamWait::follow_main))
    simulated::order_behind(handles_->queue, simulated::main_queue);
}
void Stream::precede_main() {
  if (!simulated::is_left_out(simulated::StreamWait::precede_main))
    simulated::order_behind(simulated::main_queue, handles_->queue);
}
void Stream::wait() {
  count_wait();
  if (!simulated::is_left_out(simulated::StreamWait::wait)) simulated::wait_for(handles_->queue);
}
void Stream::copy_to_host(void* host, const void* device, size_t bytes) {
  require_device(device);
  require_host(host);
  count_message_copy(int64_t(bytes));
  simulated::submit(handles_->queue, [=] { std::memcpy(host, device, bytes); });
}
void Stream::copy_from_host(void* device, const void* host, size_t bytes) {
  require_device(device);
  require_host(host);
  count_message_copy(int64_t(bytes));
  simulated::submit(handles_->queue, [=] { std::memcpy(device, host, bytes); });
}
Stream::Scope::Scope(const Stream& stream)
    : before_{reinterpret_cast<void*>(intptr_t(simulated::launch_queue()))} {
  simulated::set_launch_queue(stream.handles_->queue);
}
Stream::Scope::~Scope() { simulated::set_launch_queue(int(reinterpret_cast<intptr_t>(before_))); }

SumMemory sum_memory(int rows) {
  static Memory in_making, finished;
  const size_t count = size_t(rows < 64 ? 64 : rows);
  if (count * sizeof(SumInMaking) > in_making.bytes()) {
    in_making = Memory(count * sizeof(SumInMaking), Backend::cuda);
    finished = Memory(count * sizeof(FinishedSum));
  }
  return {static_cast<SumInMaking*>(in_making.data()), static_cast<FinishedSum*>(finished.data())};
}

void take_sums(const SumMemory& memory, int rows, ExactSum* sums) {
  count_wait();
  simulated::wait_for(simulated::launch_queue());
  for (int row = 0; row < rows; ++row) sums[row].merge(memory.finished[row].value());
}

double* term_buffer(size_t count) {
  static Memory memory;
  if (count * sizeof(double) > memory.bytes()) memory = Memory(count * sizeof(double), Backend::cuda);
  return static_cast<double*>(memory.data());
}

void reduce_rows(const double* terms, int count, size_t stride, int rows, ExactSum* sums) {
  require_device(terms);
  reduce_sites<1>(SiteRange(count), rows, TermsInMemory{terms, stride}, sums);
}

}  // namespace trellis::cuda
