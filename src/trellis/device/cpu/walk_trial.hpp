#pragma once
/// Which of several ways of walking over the lattice is fastest here and now, found by trying them in turn.
/// All have to give the same bits.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <limits>

namespace trellis::cpu {

class WalkTrial {
 public:
  static constexpr int largest_ways = 3;
  /// @pre 2 <= ways <= largest_ways
  explicit WalkTrial(int ways = 2) : ways_{ways} { best_.fill(std::numeric_limits<double>::infinity()); }

  /// The way, from 0 on, that the next launch takes.
  int way() const { return launch_ < trial_launches() ? launch_ / launches_in_turn % ways_ : fastest_; }
  bool takes_second() const { return way() == 1; }
  /// What the launch took for each block.
  void record(double seconds) {
    if (launch_ < trial_launches()) {
      double& best = best_[size_t(way())];
      best = seconds < best ? seconds : best;
    }
    if (++launch_ == trial_launches()) {
      const int least = int(std::min_element(best_.begin(), best_.end()) - best_.begin());
      fastest_ = best_[size_t(least)] < worthwhile * best_[0] ? least : 0;
    }
    if (launch_ == launches_between_trials) *this = WalkTrial(ways_);
  }

 private:
  /// Even and odd sites, operator and dagger follow each other: each way has all of them in its turn.
  static constexpr int launches_in_turn = 4, turns = 3;
  /// Neighbours on a shared machine come and go.
  static constexpr int launches_between_trials = 1 << 14;
  static constexpr double worthwhile = 0.98;
  int trial_launches() const { return launches_in_turn * turns * ways_; }
  int ways_;
  int launch_ = 0;
  std::array<double, largest_ways> best_;
  int fastest_ = 0;
};

/// A trial for every size of the working set, in powers of two. One for each kernel and launching thread.
class WalkTrials {
 public:
  explicit WalkTrials(int ways = 2) { trials_.fill(WalkTrial(ways)); }
  WalkTrial& of(size_t working_set) { return trials_[size_t(std::bit_width(working_set))]; }

 private:
  std::array<WalkTrial, 65> trials_;
};

}  // namespace trellis::cpu
