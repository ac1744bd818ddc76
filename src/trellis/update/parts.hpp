#pragma once
/// These parts say where the time of a run goes.
#include <array>

#include "trellis/base/clock.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis {

enum class Part { solver, fermion_force, gauge_force, smearing, action, update };
inline constexpr int parts = 6;
inline const char* name_of(Part part) {
  constexpr const char* names[parts] = {"solver",   "fermion_force", "gauge_force",
                                        "smearing", "action",        "update"};
  return names[int(part)];
}

struct PartCost {
  double seconds = 0, flops = 0, bytes = 0;  ///< flops and must-move bytes are those of all ranks

  void add(const PartCost& other) {
    seconds += other.seconds;
    flops += other.flops;
    bytes += other.bytes;
  }
};

class PartCosts {
 public:
  PartCost& operator[](Part part) { return costs_[size_t(part)]; }
  const PartCost& operator[](Part part) const { return costs_[size_t(part)]; }
  void add(const PartCosts& other) {
    for (size_t k = 0; k < parts; ++k) costs_[k].add(other.costs_[k]);
  }

 private:
  std::array<PartCost, parts> costs_{};
};

/// It adds the time of its life to a cost. Launches on a GPU go on behind the host: where nothing waits for
/// them, their time is that of the next part that does.
class PartTimer {
 public:
  /// It is set where parts are to be timed on a GPU: each waits for its launches then. Waiting costs time
  /// itself.
  inline static bool waits_for_gpu = false;

  explicit PartTimer(PartCost& cost) : cost_{cost} { wait(); }
  ~PartTimer() {
    wait();
    cost_.seconds += watch_.seconds();
  }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  static void wait() {
    if (waits_for_gpu) cuda::synchronize();
  }
  PartCost& cost_;
  Stopwatch watch_;
};

}  // namespace trellis
