/// This file has the memory of exact sums on the device, and takes them to the host.
#include <atomic>
#include <cstring>
#include <utility>

#include "trellis/base/clock.hpp"
#include "trellis/device/cuda/check.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/device/memory.hpp"

namespace trellis::cuda {

namespace {
/// Returns device memory that grows on demand and lives as long as the thread. Whoever launches waits for the
/// result before it launches again, so that a thread needs no second one.
template <class T>
T* grown(Memory& memory, size_t count) {
  if (count * sizeof(T) > memory.bytes()) {
    memory = Memory();
    memory = Memory(count * sizeof(T), Backend::cuda);
  }
  return static_cast<T*>(memory.data());
}

/// This is page-locked memory of the host that the device writes to.
class FinishedSums {
 public:
  FinishedSums() = default;
  FinishedSums(const FinishedSums&) = delete;
  FinishedSums& operator=(const FinishedSums&) = delete;
  ~FinishedSums() { (void)cudaFreeHost(data_); }
  FinishedSum* get(size_t count) {
    if (count > capacity_) {
      check(cudaFreeHost(std::exchange(data_, nullptr)), "cudaFreeHost");
      capacity_ = 0;
      check(cudaHostAlloc(&data_, count * sizeof(FinishedSum), cudaHostAllocMapped), "cudaHostAlloc");
      std::memset(static_cast<void*>(data_), 0, count * sizeof(FinishedSum));
      capacity_ = count;
    }
    return data_;
  }

 private:
  FinishedSum* data_ = nullptr;
  size_t capacity_ = 0;
};

thread_local Memory sums_in_making, terms_of_launch;
thread_local FinishedSums finished_sums;

/// Waits for what a launch leaves. Looking at it takes half the time of a wait for the stream, which comes
/// where the launch takes long, or fails.
void wait_for_rows(const SumMemory& memory, int rows) {
  count_wait();
  constexpr double patience = 200e-6;
  const double start = seconds_now();
  for (int row = 0; row < rows; ++row) {
    const std::atomic_ref<unsigned> turn(memory.finished[row].turn);
    while (turn.load(std::memory_order_acquire) != memory.turn) {
      if (seconds_now() - start < patience) continue;
      check(cudaStreamSynchronize(launch_stream()), "cudaStreamSynchronize");
      if (turn.load(std::memory_order_acquire) != memory.turn)
        throw Error("a sum on the GPU ended without a result");
    }
  }
}
}  // namespace

SumMemory sum_memory(int rows) {
  thread_local unsigned turn = 0;
  if (++turn == 0) turn = 1;
  const size_t count = size_t(rows < 64 ? 64 : rows);
  return {grown<SumInMaking>(sums_in_making, count), finished_sums.get(count), turn};
}

void take_sums(const SumMemory& memory, int rows, ExactSum* sums) {
  wait_for_rows(memory, rows);
  for (int row = 0; row < rows; ++row) sums[row].merge(memory.finished[row].value());
}

double take_maximum(const SumMemory& memory) {
  wait_for_rows(memory, 1);
  return maximum_of(memory.finished->low[0]);
}

double* term_buffer(size_t count) { return grown<double>(terms_of_launch, count); }

void reduce_rows(const double* terms, int count, size_t stride, int rows, ExactSum* sums) {
  constexpr int most_rows = 16384;  // a launch has at most 65535 columns
  for (int first = 0; first < rows; first += most_rows)
    reduce_sites<1>(SiteRange(count), rows - first < most_rows ? rows - first : most_rows,
                    TermsInMemory{terms + size_t(first) * stride, stride}, sums + first);
}

}  // namespace trellis::cuda
