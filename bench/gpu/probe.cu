/// This program measures what a GPU gives, whatever runs on it: rates of memory, latencies of launches and
/// copies; and two experiments on layouts. Times are CUDA events', or the host's between two
/// synchronisations; all are medians.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "bench/gpu/lines.hpp"

namespace trellis::gpu_check {
namespace {

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "gpu_probe: %s failed: %s\n", call, cudaGetErrorString(code));
  std::exit(2);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Returns the seconds of one call on the GPU.
double on_gpu(const std::function<void()>& call, int calls = 20, int rounds = 7) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  for (int i = 0; i < 3; ++i) call();
  std::vector<double> seconds;
  for (int r = 0; r < rounds; ++r) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    for (int i = 0; i < calls; ++i) call();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    seconds.push_back(double(milliseconds) * 1e-3 / calls);
  }
  check(cudaGetLastError(), "kernel launch");
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  return median(seconds);
}

/// Returns the seconds of one call as the host sees it; the GPU is idle before and after each round.
double on_host(const std::function<void()>& call, int calls = 50, int rounds = 9) {
  std::vector<double> seconds;
  for (int r = 0; r < rounds; ++r) {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const double start = now();
    for (int i = 0; i < calls; ++i) call();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    seconds.push_back((now() - start) / calls);
  }
  return median(seconds);
}

__global__ void fill(float* p, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    p[i] = float((i * 2654435761u) % 1000003u) * 1e-6f;
}

__global__ void triad(double2* a, const double2* b, const double2* c, size_t count) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) a[i] = make_double2(b[i].x + 3.0 * c[i].x, b[i].y + 3.0 * c[i].y);
}

__global__ void empty() {}

/// Reads spinors of 24 floats a site in groups [6][32][4], as Trellis keeps them: each float is read by
/// itself, as its kernels read them, or 16 bytes at once.
template <bool in_vectors>
__global__ void read_spinors(const float* in, float* out, int sites) {
  const int site = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (site >= sites) return;
  const float* p = in + size_t(site / 32) * 768 + (site % 32) * 4;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    float4 v;
    if (in_vectors) {
      v = __ldg(reinterpret_cast<const float4*>(p + k * 128));
    } else {  // it is written so that the compiler does not join them
      asm("ld.global.f32 %0, [%1];" : "=f"(v.x) : "l"(p + k * 128));
      asm("ld.global.f32 %0, [%1];" : "=f"(v.y) : "l"(p + k * 128 + 1));
      asm("ld.global.f32 %0, [%1];" : "=f"(v.z) : "l"(p + k * 128 + 2));
      asm("ld.global.f32 %0, [%1];" : "=f"(v.w) : "l"(p + k * 128 + 3));
    }
    sum += (v.x + v.y) * (v.z - v.w);
  }
  if (sum == 1.2345f) out[site] = sum;  // this keeps the loads
}

/// Lets links of 96 floats a site act on several columns: a thread takes each column, as Trellis has it, or
/// one thread takes all columns.
template <bool in_thread>
__global__ void many_columns(const float4* links, const float4* in, float4* out, int sites, int columns) {
  const int site = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (site >= sites) return;
  const int first = in_thread ? 0 : int(blockIdx.y), last = in_thread ? columns : first + 1;
  float4 u[24];
#pragma unroll
  for (int k = 0; k < 24; ++k) u[k] = __ldg(links + (size_t(site / 32) * 24 + k) * 32 + site % 32);
  for (int column = first; column < last; ++column) {
    const size_t at = (size_t(site / 32) * columns + column) * 6 * 32 + site % 32;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
      float4 v = __ldg(in + at + k * 32);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float4 w = u[4 * k + j];
        v = make_float4(fmaf(w.x, v.x, v.y), fmaf(w.y, v.y, v.z), fmaf(w.z, v.z, v.w), fmaf(w.w, v.w, v.x));
      }
      out[at + k * 32] = v;
    }
  }
}

class Probe {
 public:
  Probe() {
    for (float** p : {&a_, &b_, &c_}) {
      check(cudaMalloc(p, bytes), "cudaMalloc");
      fill<<<2048, 256>>>(*p, bytes / 4);
    }
    check(cudaDeviceSynchronize(), "fill");
  }

  void rates() {
    tell("copy on the GPU, read and written",
         2e-9 * bytes / on_gpu([&] { copy(a_, b_, bytes, cudaMemcpyDeviceToDevice, true); }, 5), "GB/s");
    tell("triad, 2 GiB arrays", triad_rate(bytes), "GB/s");
    tell("triad in the L2 cache, 8 MiB arrays", triad_rate(size_t(8) << 20), "GB/s");
  }

  void latencies() {
    tell("launch, many queued", 1e6 * on_host([] { empty<<<1, 32>>>(); }, 1000), "us");
    tell("launch and wait",
         1e6 * on_host(
                   [] {
                     empty<<<1, 32>>>();
                     check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
                   },
                   200),
         "us");
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < 20; ++i) empty<<<1, 32, 0, stream>>>();
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    tell("kernel in a graph of 20",
         1e6 / 20 * on_host([&] { check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch"); }, 200), "us");
    tell("graph of 20, launch and wait",
         1e6 * on_host(
                   [&] {
                     check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
                     check(cudaStreamSynchronize(stream), "wait");
                   },
                   200),
         "us");
    tell("cudaMalloc and cudaFree of 64 MiB",
         1e6 * on_host(
                   [] {
                     void* p;
                     check(cudaMalloc(&p, size_t(64) << 20), "cudaMalloc");
                     check(cudaFree(p), "cudaFree");
                   },
                   5, 3),
         "us");
  }

  void host_copies() {
    std::vector<char> pageable(size_t(256) << 20, 1);
    char* pinned;
    check(cudaMallocHost(&pinned, pageable.size()), "cudaMallocHost");
    const auto both_ways = [&](const char* kind, char* host) {
      const auto row = [&](const char* what, size_t count, bool is_up) {
        const auto call = [&] {
          if (is_up)
            copy(a_, host, count, cudaMemcpyHostToDevice, false);
          else
            copy(host, a_, count, cudaMemcpyDeviceToHost, false);
        };
        const std::string name = std::string(what) + (is_up ? " to the GPU, " : " to the host, ") + kind;
        if (count < 1024)
          tell(name, 1e6 * on_host(call, 200), "us");
        else
          tell(name, 1e-9 * double(count) / on_host(call, 2, 3), "GB/s");
      };
      for (const bool is_up : {true, false}) {
        row("copy of 64 bytes", 64, is_up);
        row("copy of 256 MiB", pageable.size(), is_up);
      }
    };
    both_ways("pageable memory", pageable.data());
    both_ways("page-locked memory", pinned);
    check(cudaFreeHost(pinned), "cudaFreeHost");
  }

  void layouts() {
    const int sites = 1 << 21;  // they take 200 MB of spinors
    const double spinor_bytes = 96.0 * sites;
    tell("spinors read float by float",
         1e-9 * spinor_bytes / on_gpu([&] { read_spinors<false><<<sites / 128, 128>>>(a_, b_, sites); }),
         "GB/s");
    tell("spinors read in 16 bytes",
         1e-9 * spinor_bytes / on_gpu([&] { read_spinors<true><<<sites / 128, 128>>>(a_, b_, sites); }),
         "GB/s");
    const int columns = 12, half = 1 << 19;  // these are the even sites of 32^4: links of 201 MB, columns of
                                             // 604 MB
    const auto of_a_column = [&](double seconds) { return 1e9 * seconds / columns / half; };
    const auto* links = reinterpret_cast<const float4*>(a_);
    const auto* in = reinterpret_cast<const float4*>(b_);
    auto* out = reinterpret_cast<float4*>(c_);
    tell("12 columns, a thread for each, a site and column",
         of_a_column(on_gpu(
             [&] { many_columns<false><<<dim3(half / 128, columns), 128>>>(links, in, out, half, columns); },
             5)),
         "ns");
    tell("12 columns, all in a thread, a site and column",
         of_a_column(
             on_gpu([&] { many_columns<true><<<half / 128, 128>>>(links, in, out, half, columns); }, 5)),
         "ns");
  }

 private:
  static constexpr size_t bytes = size_t(2) << 30;

  void tell(const std::string& what, double value, const char* unit) {
    lines_.print(Row().text("probe", what).number("value", value).text("unit", unit));
  }
  static void copy(void* to, const void* from, size_t count, cudaMemcpyKind kind, bool is_queued) {
    if (is_queued)
      check(cudaMemcpyAsync(to, from, count, kind), "cudaMemcpyAsync");
    else
      check(cudaMemcpy(to, from, count, kind), "cudaMemcpy");
  }
  double triad_rate(size_t array_bytes) {
    const size_t count = array_bytes / sizeof(double2);
    return 3e-9 * double(array_bytes) / on_gpu([&] {
             triad<<<unsigned((count + 255) / 256), 256>>>(reinterpret_cast<double2*>(a_),
                                                           reinterpret_cast<const double2*>(b_),
                                                           reinterpret_cast<const double2*>(c_), count);
           });
  }
  Lines lines_{"probe"};
  float *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
};

void tell_device() {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    if (driver == 0)
      std::fprintf(stderr, "gpu_probe: there is no GPU here: no NVIDIA driver is installed (libcuda.so.1)\n");
    else if (code == cudaErrorInsufficientDriver)
      std::fprintf(
          stderr, "gpu_probe: the NVIDIA driver supports CUDA up to %s; this program needs a driver for %s\n",
          version(driver).c_str(), version(runtime).c_str());
    else
      std::fprintf(stderr, "gpu_probe: the GPU cannot be used: %s\n", cudaGetErrorString(code));
    std::exit(2);
  }
  cudaDeviceProp d;
  check(cudaGetDeviceProperties(&d, 0), "cudaGetDeviceProperties");
  const auto attribute = [](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
    return value;
  };
  Lines("device").print(Row()
                            .text("GPU", d.name)
                            .count("GPUs", count)
                            .text("capability", std::to_string(d.major) + "." + std::to_string(d.minor))
                            .count("multiprocessors", d.multiProcessorCount)
                            .number("memory GB", double(d.totalGlobalMem) * 1e-9)
                            .number("L2 MiB", d.l2CacheSize / 1048576.0)
                            .number("clock MHz", attribute(cudaDevAttrClockRate) * 1e-3)
                            .number("memory clock MHz", attribute(cudaDevAttrMemoryClockRate) * 1e-3)
                            .text("driver for CUDA", version(driver))
                            .text("CUDA", version(runtime)));
}

}  // namespace
}  // namespace trellis::gpu_check

int main() {
  using namespace trellis::gpu_check;
  tell_device();
  Probe probe;
  probe.rates();
  probe.latencies();
  probe.host_copies();
  probe.layouts();
  return 0;
}
