#pragma once
/// Which of several ways of walking over the lattice is fastest here and now: the tuner's cache says so, or
/// the ways are tried in turn. All have to give the same bits.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <type_traits>
#include <typeinfo>

#include "trellis/device/tuner.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {
class Geometry;
}

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
  /// What the launch took for each block.
  void record(double seconds) {
    if (is_trying()) {
      double& best = best_[size_t(way())];
      best = std::min(best, seconds);
      if (++in_round_ == launches_in_turn * left_) end_round();
    }
    if (++launch_ == launches_between_trials) *this = WalkTrial(ways_);
  }
  /// Launches take this way until the next trial is due.
  void settle(int way) {
    round_ = rounds;
    fastest_ = way;
  }
  bool is_trying() const { return round_ < rounds && left_ > 1; }
  /// No launch since the trial began, or began again.
  bool begins() const { return launch_ == 0; }
  /// The least that a launch of the fastest way took for each block. @pre the trial has ended
  double least_seconds() const { return best_[size_t(fastest_)]; }

 private:
  /// Even and odd sites, operator and dagger follow each other: each way has all of them in its turn.
  static constexpr int launches_in_turn = 4, rounds = 3;
  /// Neighbours on a shared machine come and go.
  static constexpr int launches_between_trials = 1 << 14;
  static constexpr double worthwhile = 0.98;
  /// A way that is slower than the best by this in a round has no further turn.
  static constexpr double hopeless = 1.2;

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

/// What a launch works on: the tuner tells launches apart by it.
struct WalkSubject {
  size_t working_set = 0;              ///< bytes of all fields concerned, on this rank
  const Geometry* geometry = nullptr;  ///< null: the launch does not know its lattice
  int columns = 1;
  const char* storage = "";
};

template <class Storage>
constexpr const char* storage_name() {
  if (std::is_same_v<Storage, double>) return "double";
  if (std::is_same_v<Storage, float>) return "float";
  return std::is_same_v<Storage, Half> ? "half" : "fp16";
}

/// A trial for every size of the working set, in powers of two. One for each kernel and launching thread.
///
/// What happens depends on the tuner's mode (device/tuner.hpp). off: all launches take way 0. read: what the
/// cache has for the first launch of a trial is taken, else the ways are tried. on: likewise, and what a
/// trial finds is recorded; a way from the cache that turns out slower than its record is tried again.
class WalkTrials {
 public:
  /// @param kernel names what is launched, or its type; the empty name is never looked up
  explicit WalkTrials(int ways = 2, const char* kernel = "") : ways_{ways}, kernel_{kernel} {}
  WalkTrials(int ways, const std::type_info& kernel) : WalkTrials(ways, kernel.name()) {}

  /// launch(way), whose time counts for each of so many blocks. @pre blocks > 0
  template <class Launch>
  void launch(const WalkSubject& subject, int blocks, const Launch& launch) {
    const Begun begun = begin(subject);
    launch(begun.way);
    end(begun, subject, blocks);
  }

 private:
  struct Trial {
    WalkTrial ways;
    TunedChoice cached = {};
    bool is_cached = false, is_repeated = false;
    double least = std::numeric_limits<double>::infinity();  ///< of the launches that are watched
    int watched = 0;
  };
  struct Begun {
    Trial* trial;  ///< null: nothing is tried
    int way;
    double start;
  };
  Begun begin(const WalkSubject& subject);
  void end(const Begun& begun, const WalkSubject& subject, int blocks);
  void ask(Trial& trial, const WalkSubject& subject) const;
  void watch(Trial& trial, double seconds) const;
  TuneKey key(const WalkSubject& subject) const;

  int ways_;
  const char* kernel_;
  std::map<int, Trial> trials_;  ///< by the bits of the working set
};

}  // namespace trellis::cpu
