#pragma once
/// This is the one place that reads a clock. Code outside of device/ measures for reports only: what a run
/// does may depend on time in device/ alone, where ranks and results cannot see it.
#include <chrono>

namespace trellis {

/// Returns the seconds since a moment in the past that is the same as long as the process lives. It never
/// goes back.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A stopwatch counts the seconds from the moment at which it is made.
class Stopwatch {
 public:
  double seconds() const { return seconds_now() - start_; }

 private:
  double start_ = seconds_now();
};

}  // namespace trellis
