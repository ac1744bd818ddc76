#pragma once
/// Which of several ways of walking over the lattice is fastest here and now, found by trying them in turn.
/// All have to give the same bits.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>

#include "trellis/base/clock.hpp"

namespace trellis::cpu {

class WalkTrial {
 public:
  static constexpr int largest_ways = 4;
  /// @pre 2 <= ways <= largest_ways
  explicit WalkTrial(int ways = 2) : ways_{ways}, left_{ways} {
    best_.fill(std::numeric_limits<double>::infinity());
    for (int i = 0; i < largest_ways; ++i) in_trial_[size_t(i)] = i;
  }

  /// The way, from 0 on, that the next launch takes.
  int way() const { return is_trying() ? in_trial_[size_t(in_round_ / launches_in_turn)] : fastest_; }
  bool takes_second() const { return way() == 1; }
  /// Calls launch() in that way, and records what it took for each of so many blocks.
  template <class Launch>
  void time(int blocks, const Launch& launch) {
    const Stopwatch watch;
    launch();
    record(watch.seconds() / blocks);
  }
  /// What the launch took for each block.
  void record(double seconds) {
    if (is_trying()) {
      double& best = best_[size_t(way())];
      best = std::min(best, seconds);
      if (++in_round_ == launches_in_turn * left_) end_round();
    }
    if (++launch_ == launches_between_trials) *this = WalkTrial(ways_);
  }

 private:
  /// Even and odd sites, operator and dagger follow each other: each way has all of them in its turn.
  static constexpr int launches_in_turn = 4, rounds = 3;
  /// Neighbours on a shared machine come and go.
  static constexpr int launches_between_trials = 1 << 14;
  static constexpr double worthwhile = 0.98;
  /// A way that is slower than the best by this in a round has no further turn.
  static constexpr double hopeless = 1.2;

  bool is_trying() const { return round_ < rounds && left_ > 1; }
  void end_round() {
    const double least = *std::min_element(best_.begin(), best_.end());
    const auto end = std::remove_if(in_trial_.begin(), in_trial_.begin() + left_,
                                    [&](int way) { return best_[size_t(way)] > hopeless * least; });
    left_ = int(end - in_trial_.begin());
    in_round_ = 0;
    ++round_;
    const int fastest = int(std::min_element(best_.begin(), best_.end()) - best_.begin());
    fastest_ = least < worthwhile * best_[0] ? fastest : 0;
  }

  int ways_, left_;
  int launch_ = 0, round_ = 0, in_round_ = 0;
  std::array<int, largest_ways> in_trial_;  ///< the first left_ of these
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
