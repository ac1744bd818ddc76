#pragma once
/// This file measures what this machine can do now: every "share of the roof" has one of these as its
/// denominator.
#include <cstddef>

#include "trellis/base/precision.hpp"

namespace trellis {

/// This class measures the bytes per second that `threads` threads read from a buffer that is `bytes` long in
/// all and read again and again (so that a buffer that fits a cache measures the cache). The best of a few
/// rounds counts.
class ReadBandwidth {
 public:
  ReadBandwidth(size_t bytes, int threads);
  ~ReadBandwidth();
  ReadBandwidth(const ReadBandwidth&) = delete;
  ReadBandwidth& operator=(const ReadBandwidth&) = delete;
  /// Makes one measurement, which lasts for `seconds` at least.
  double measure(double seconds);

 private:
  double* data_;
  size_t count_;
  int threads_;
};

/// Returns the flops per second of independent fused multiply-adds in registers (2 flop each), all threads
/// together.
double measure_fma_peak(Precision precision, int threads, double seconds);

/// Returns the bytes per second of the triad a = b + s c (three arrays of `bytes` / 3), counting 3 transfers.
double measure_triad_bandwidth(size_t bytes, int threads, double seconds);

}  // namespace trellis
