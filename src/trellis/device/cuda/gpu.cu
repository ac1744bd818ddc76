/// This file has the GPUs of this machine, streams and page-locked memory.
#include "trellis/device/gpu.hpp"

#include <cxxabi.h>

#include <climits>
#include <cstdlib>

#include "trellis/base/environment.hpp"
#include "trellis/device/cuda/check.hpp"
#include "trellis/device/cuda/freed_fields.hpp"
#include "trellis/device/cuda/stream.hpp"
#include "trellis/device/gpu_activity.hpp"

namespace trellis::cuda {

namespace {
/// Returns this process's number among those of its node, as the starters of MPI programs tell it.
int local_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                           "PMI_LOCAL_RANK", "SLURM_LOCALID"})
    if (const auto rank = environment_number(name, 0, INT_MAX)) return *rank;
  return 0;
}

struct Choice {
  int device = 0;
  std::string failure;
};

/// Says why the driver cannot be used. The runtime gives one code to a driver that is too old and to one that
/// is missing.
std::string driver_failure(cudaError_t code) {
  int driver = 0, runtime = 0;
  if (code != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess ||
      cudaRuntimeGetVersion(&runtime) != cudaSuccess)
    return message("the NVIDIA driver cannot be used: ", cudaGetErrorString(code));
  if (driver == 0) return "no NVIDIA driver is installed here (libcuda.so.1 is not found)";
  const auto version = [](int v) { return message(v / 1000, ".", v % 1000 / 10); };
  return message("the NVIDIA driver supports CUDA up to ", version(driver),
                 "; this build needs a driver for CUDA ", version(runtime));
}

Choice choose() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    return {0, "no NVIDIA GPU is visible to this process (nvidia-smi; CUDA_VISIBLE_DEVICES)"};
  if (code != cudaSuccess) return {0, driver_failure(code)};
  const int device = local_rank() % count;
  if (const cudaError_t failed = cudaSetDevice(device); failed != cudaSuccess)
    return {0, message("GPU ", device, " cannot be used: ", cudaGetErrorString(failed))};
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess && properties.major < 8)
    return {0, message("GPU ", device, " (", properties.name, ") has compute capability ", properties.major,
                       ".", properties.minor, "; at least 8.0 is needed")};
  return {device, ""};
}

const Choice& choice() {
  static const Choice made = choose();
  return made;
}

thread_local cudaStream_t current = nullptr;

/// These events are kept: they are made once for each launching thread.
struct TimerEvents {
  TimerEvents() {
    for (cudaEvent_t& event : events) check(cudaEventCreate(&event), "cudaEventCreate");
  }
  cudaEvent_t events[2] = {};
};
TimerEvents& timer() {
  thread_local TimerEvents events;
  return events;
}
}  // namespace

cudaStream_t launch_stream() {
  require_gpu();
  return current;
}

namespace {
std::string name_of(const std::type_info& kernel) {
  int status = 0;
  char* const words = abi::__cxa_demangle(kernel.name(), nullptr, nullptr, &status);
  const std::string name = words != nullptr ? words : kernel.name();
  std::free(words);
  return name;
}

bool waits_for_each_kernel() {
  static const bool waits = environment_number("TRELLIS_GPU_CHECK", 0, 1).value_or(0) == 1;
  return waits;
}
}  // namespace

void require_launched(const std::type_info& kernel) {
  count_kernel();
  cudaError_t code = cudaGetLastError();
  if (code == cudaSuccess && waits_for_each_kernel()) code = cudaStreamSynchronize(current);
  if (code == cudaSuccess) return;
  const std::string text =
      message("the kernel ", name_of(kernel), " failed: ", cudaGetErrorString(code),
              waits_for_each_kernel() ? "" : "; TRELLIS_GPU_CHECK=1 tells whether an earlier one did");
  if (code == cudaErrorMemoryAllocation) throw MemoryError(text);
  throw Error(text);
}

std::vector<Gpu> gpus() {
  std::vector<Gpu> found;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    Gpu gpu{properties.name, message(properties.major, ".", properties.minor), properties.totalGlobalMem, 0};
    if (why_no_gpu().empty() && device == gpu_of_this_process()) {
      size_t total = 0;
      (void)cudaMemGetInfo(&gpu.available, &total);
      gpu.available += bytes_of_freed_fields();
    }
    found.push_back(gpu);
  }
  return found;
}

int gpu_of_this_process() { return choice().device; }
const std::string& name_of_this_gpu() {
  static const std::string name = [] {
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    return message(gpus().at(size_t(gpu_of_this_process())).name, ", driver for CUDA ", driver / 1000, ".",
                   driver % 1000 / 10);
  }();
  return name;
}
std::string why_no_gpu() { return choice().failure; }

void require_gpu() {
  if (!choice().failure.empty())
    throw NotAvailable(message("backend cuda: ", choice().failure, "; the backend cpu works in this build"));
  thread_local bool has_device = false;
  if (has_device) return;
  check(cudaSetDevice(choice().device), "cudaSetDevice");
  has_device = true;
}

void synchronize() {
  count_wait();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void start_launch_timer() { check(cudaEventRecord(timer().events[0], current), "cudaEventRecord"); }
double stop_launch_timer() {
  const TimerEvents& own = timer();
  check(cudaEventRecord(own.events[1], current), "cudaEventRecord");
  check(cudaEventSynchronize(own.events[1]), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, own.events[0], own.events[1]), "cudaEventElapsedTime");
  return 1e-3 * double(milliseconds);
}

PinnedMemory::PinnedMemory(size_t bytes) : bytes_{bytes} {
  require_gpu();
  check(cudaMallocHost(&data_, bytes), "cudaMallocHost");
}
PinnedMemory::~PinnedMemory() { (void)cudaFreeHost(data_); }

struct Stream::Handles {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
};

Stream::Stream() : handles_{std::make_unique<Handles>()} {
  require_gpu();
  check(cudaStreamCreateWithFlags(&handles_->stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&handles_->event, cudaEventDisableTiming), "cudaEventCreate");
}
Stream::~Stream() {
  (void)cudaEventDestroy(handles_->event);
  (void)cudaStreamDestroy(handles_->stream);
}
void Stream::follow_main() {
  check(cudaEventRecord(handles_->event, nullptr), "cudaEventRecord");
  check(cudaStreamWaitEvent(handles_->stream, handles_->event, 0), "cudaStreamWaitEvent");
}
void Stream::precede_main() {
  check(cudaEventRecord(handles_->event, handles_->stream), "cudaEventRecord");
  check(cudaStreamWaitEvent(nullptr, handles_->event, 0), "cudaStreamWaitEvent");
}
void Stream::wait() {
  count_wait();
  check(cudaStreamSynchronize(handles_->stream), "cudaStreamSynchronize");
}
void Stream::copy_to_host(void* host, const void* device, size_t bytes) {
  count_message_copy(int64_t(bytes));
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, handles_->stream), "cudaMemcpyAsync");
}
void Stream::copy_from_host(void* device, const void* host, size_t bytes) {
  count_message_copy(int64_t(bytes));
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, handles_->stream), "cudaMemcpyAsync");
}

Stream::Scope::Scope(const Stream& stream) : before_{current} { current = stream.handles_->stream; }
Stream::Scope::~Scope() { current = static_cast<cudaStream_t>(before_); }

}  // namespace trellis::cuda
