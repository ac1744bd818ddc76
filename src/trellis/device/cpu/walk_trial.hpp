#pragma once
/// Which of two ways of walking over the lattice is faster here and now, found by trying both in turn. Both
/// have to give the same bits.
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <limits>

namespace trellis::cpu {

class WalkTrial {
 public:
  /// Whether the next launch takes the second way.
  bool takes_second() const {
    return launch_ < trial_launches ? launch_ / launches_in_turn % 2 != 0 : second_is_faster_;
  }
  /// What the launch took for each block.
  void record(double seconds) {
    if (launch_ < trial_launches) {
      double& best = best_[takes_second() ? 1 : 0];
      best = seconds < best ? seconds : best;
    }
    if (++launch_ == trial_launches) second_is_faster_ = best_[1] < worthwhile * best_[0];
    if (launch_ == launches_between_trials) *this = WalkTrial();
  }

 private:
  /// Even and odd sites, operator and dagger follow each other: each way has all of them in its turn.
  static constexpr int launches_in_turn = 4, trial_launches = 24;
  /// Neighbours on a shared machine come and go.
  static constexpr int launches_between_trials = 1 << 14;
  static constexpr double worthwhile = 0.98;
  int launch_ = 0;
  double best_[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  bool second_is_faster_ = false;
};

/// A trial for every size of the working set, in powers of two. One for each kernel and launching thread.
class WalkTrials {
 public:
  WalkTrial& of(size_t working_set) { return trials_[size_t(std::bit_width(working_set))]; }

 private:
  std::array<WalkTrial, 65> trials_;
};

}  // namespace trellis::cpu
