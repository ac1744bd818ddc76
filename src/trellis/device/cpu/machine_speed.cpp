#include "trellis/device/machine_speed.hpp"

#include <algorithm>
#include <cstdlib>

#include "trellis/algebra/lane_functions.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/memory.hpp"

namespace trellis {

namespace {
constexpr int doubles = native_vector_bytes / 8;
using Vector = Lanes<double, doubles>;

/// Keeps the compiler from dropping a result.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

/// Reads with eight independent sums, which keep enough loads in flight.
double read_part(const double* p, size_t count) {
  constexpr int streams = 8;
  Vector sums[streams];
  for (Vector& s : sums) s = Vector(0.0);
  for (size_t i = 0; i + streams * doubles <= count; i += streams * doubles)
    for (int k = 0; k < streams; ++k) sums[k] = sums[k] + Vector::load(p + i + size_t(k) * doubles);
  for (int k = 1; k < streams; ++k) sums[0] = sums[0] + sums[k];
  return lane(sums[0], 0);
}

/// Runs body(thread, threads) on every thread until `seconds` have passed; returns the seconds of a round.
template <class F>
double seconds_per_round(int threads, double seconds, const F& body) {
  long rounds = 0;
  double elapsed = 0;
  const double start = seconds_now();
  for (long batch = 1; elapsed < seconds; batch *= 2) {
    cpu::on_threads(threads, [&](int thread, int) {
      for (long r = 0; r < batch; ++r) body(thread, threads);
    });
    rounds += batch;
    elapsed = seconds_now() - start;
  }
  return elapsed / double(rounds);
}
}  // namespace

ReadBandwidth::ReadBandwidth(size_t bytes, int threads) : threads_{threads} {
  TRELLIS_REQUIRE(threads >= 1, "thread count ", threads, " must be at least 1");
  const size_t unit = size_t(threads) * 8 * doubles;
  count_ = std::max(unit, bytes / sizeof(double) / unit * unit);
  data_ = static_cast<double*>(std::aligned_alloc(size_t(2) << 20, (count_ * 8 + (2 << 20) - 1) >> 21 << 21));
  if (data_ == nullptr) throw MemoryError(message("allocation of ", count_ * 8, " bytes failed"));
  const size_t part = count_ / size_t(threads);
  cpu::on_threads(threads, [&](int thread, int) { std::fill_n(data_ + size_t(thread) * part, part, 1.0); });
}

ReadBandwidth::~ReadBandwidth() { std::free(data_); }

double ReadBandwidth::measure(double seconds) {
  const size_t part = count_ / size_t(threads_);
  const double t = seconds_per_round(threads_, seconds, [&](int thread, int) {
    const double sum = read_part(data_ + size_t(thread) * part, part);
    keep(sum);
  });
  return double(count_ * sizeof(double)) / t;
}

namespace {
template <class T>
double fma_rounds(int threads, double seconds) {
  constexpr int W = native_vector_bytes / int(sizeof(T)), chains = 24, steps = 512;
  using V = Lanes<T, W>;
  const double t = seconds_per_round(threads, seconds, [&](int, int) {
    V x[chains];
#pragma GCC unroll 24
    for (int k = 0; k < chains; ++k) x[k] = V(T(k));
    V a(T(0.999)), b(T(0.001));
    asm volatile("" : "+v"(a.v), "+v"(b.v));
    for (int i = 0; i < steps; ++i)
#pragma GCC unroll 24
      for (int k = 0; k < chains; ++k) x[k] = fma(x[k], a, b);
#pragma GCC unroll 24
    for (int k = 0; k < chains; ++k) keep(x[k]);
  });
  return 2.0 * W * chains * steps * threads / t;
}
}  // namespace

double measure_fma_peak(Precision precision, int threads, double seconds) {
  return precision == Precision::double_precision ? fma_rounds<double>(threads, seconds)
                                                  : fma_rounds<float>(threads, seconds);
}

double measure_triad_bandwidth(size_t bytes, int threads, double seconds) {
  const size_t part = bytes / 3 / sizeof(double) / size_t(threads) / doubles * doubles;
  Memory a(part * size_t(threads) * 8), b(part * size_t(threads) * 8), c(part * size_t(threads) * 8);
  double *pa = static_cast<double*>(a.data()), *pb = static_cast<double*>(b.data()),
         *pc = static_cast<double*>(c.data());
  const double t = seconds_per_round(threads, seconds, [&](int thread, int) {
    const size_t begin = size_t(thread) * part;
    for (size_t i = begin; i < begin + part; i += doubles)
      fma(Vector(1.5), Vector::load(pc + i), Vector::load(pb + i)).store(pa + i);
    keep(pa[begin]);
  });
  return 3.0 * double(part) * 8 * threads / t;
}

}  // namespace trellis
