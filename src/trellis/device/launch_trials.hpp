#pragma once
/// This file finds which of several ways of launching a kernel is fastest here and now (walks over the
/// lattice on CPUs, shapes of a launch on GPUs): the tuner's cache says so, or the ways are tried in turn.
/// All have to give the same bits.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "trellis/base/clock.hpp"
#include "trellis/device/tuner.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

class Geometry;

class LaunchTrial {
 public:
  static constexpr int largest_ways = 6;
  /// @pre 2 <= ways <= largest_ways
  explicit LaunchTrial(int ways = 2) : ways_{ways}, left_{ways} {
    best_.fill(std::numeric_limits<double>::infinity());
    for (int i = 0; i < largest_ways; ++i) in_trial_[size_t(i)] = i;
  }

  /// Returns the way, from 0 on, that the next launch takes.
  int way() const { return is_trying() ? in_trial_[size_t(in_round_ / launches_in_turn)] : fastest_; }
  bool takes_second() const { return way() == 1; }
  /// Notes what the launch took for each block.
  void record(double seconds) {
    if (is_trying()) {
      double& best = best_[size_t(way())];
      best = std::min(best, seconds);
      if (++in_round_ == launches_in_turn * left_) end_round();
    }
    if (++launch_ == launches_between_trials) *this = LaunchTrial(ways_);
  }
  /// Launches take this way until the next trial is due.
  void settle(int way) {
    round_ = rounds;
    fastest_ = way;
  }
  bool is_trying() const { return round_ < rounds && left_ > 1; }
  /// Says whether no launch was made since the trial began, or began again.
  bool begins() const { return launch_ == 0; }
  /// Returns the least that a launch of the fastest way took for each block. @pre the trial has ended
  double least_seconds() const { return best_[size_t(fastest_)]; }

 private:
  /// Even and odd sites, operator and dagger follow each other: each way has all of them in its turn.
  static constexpr int launches_in_turn = 4, rounds = 3;
  /// Neighbours on a shared machine come and go.
  static constexpr int launches_between_trials = 1 << 14;
  static constexpr double worthwhile = 0.98;
  /// A way that is slower than the best by this has no further turn. In the first round caches are cold for
  /// the ways that come first, and what another process does may last longer than a turn.
  static constexpr double hopeless = 1.2, hopeless_at_first = 2;

  void end_round() {
    const double least = *std::min_element(best_.begin(), best_.end());
    const double limit = (round_ == 0 ? hopeless_at_first : hopeless) * least;
    const auto end = std::remove_if(in_trial_.begin(), in_trial_.begin() + left_,
                                    [&](int way) { return best_[size_t(way)] > limit; });
    left_ = int(end - in_trial_.begin());
    in_round_ = 0;
    ++round_;
    const int fastest = int(std::min_element(best_.begin(), best_.end()) - best_.begin());
    fastest_ = least < worthwhile * best_[0] ? fastest : 0;
  }

  int ways_, left_;
  int launch_ = 0, round_ = 0, in_round_ = 0;
  std::array<int, largest_ways> in_trial_;  ///< the first left_ of these are in the trial
  std::array<double, largest_ways> best_;
  int fastest_ = 0;
};

/// The subject says what a launch works on: the tuner tells launches apart by it.
struct LaunchSubject {
  size_t working_set = 0;              ///< all fields concerned have so many bytes, on this rank
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

/// There is a trial for every size of the working set, in powers of two. Each kernel and launching thread has
/// its own trials.
///
/// What happens depends on the tuner's mode (device/tuner.hpp). With `off` all launches take way 0. With
/// `read` what the cache has for the first launch of a trial is taken, else the ways are tried; a way from
/// the cache that turns out slower than its record is tried again. With `on` the same happens, and what a
/// trial finds is recorded.
class LaunchTrials {
 public:
  /// @param kernel names what is launched, or its type; the empty name is never looked up
  /// @param device names where the kernel runs, unless it is the CPU
  explicit LaunchTrials(int ways = 2, const char* kernel = "", std::string device = "");
  LaunchTrials(int ways, const std::type_info& kernel, std::string device = "")
      : LaunchTrials(ways, kernel.name(), std::move(device)) {}
  LaunchTrials(const LaunchTrials&) = delete;
  ~LaunchTrials();  // not here: clang 15 crashes where it compiles the map for a GPU

  /// Calls launch(way), whose time counts for each of so many blocks. @pre blocks > 0
  template <class Launch>
  void launch(const LaunchSubject& subject, int blocks, const Launch& launch) {
    const Begun begun = begin(subject);
    const double start = begun.trial ? seconds_now() : 0;
    launch(begun.way);
    if (begun.trial) end(begun, subject, (seconds_now() - start) / blocks);
  }
  /// Does the same where a launch does not wait for its kernel: launch(way, is_timed) returns the kernel's
  /// seconds where it is to be timed. As timing holds the queue up, few launches of a way from the cache are
  /// watched.
  template <class Launch>
  void launch_in_queue(const LaunchSubject& subject, int blocks, const Launch& launch) {
    const Begun begun = begin(subject);
    const bool is_timed = begun.trial && (begun.trial->ways.is_trying() || is_watched_in_queue(*begun.trial));
    const double seconds = launch(begun.way, is_timed);
    if (is_timed) return end(begun, subject, seconds / blocks);
    if (begun.trial) begun.trial->ways.record(0);  // this counts the launch
  }

 private:
  struct Trial {
    LaunchTrial ways;
    TunedChoice cached = {};
    bool is_cached = false, is_repeated = false;
    double least = std::numeric_limits<double>::infinity();  ///< the least of the launches that are watched
    int watched = 0, in_queue = 0;
  };
  struct Begun {
    Trial* trial;  ///< null: nothing is tried
    int way;
  };
  Begun begin(const LaunchSubject& subject);
  void end(const Begun& begun, const LaunchSubject& subject, double seconds_of_block);
  void ask(Trial& trial, const LaunchSubject& subject) const;
  void watch(Trial& trial, double seconds) const;
  static bool is_watched_in_queue(Trial& trial);
  TuneKey key(const LaunchSubject& subject) const;

  int ways_;
  const char* kernel_;
  std::string device_;
  std::map<int, Trial> trials_;  ///< the key is the bits of the working set
};

/// A kernel that has several numbers of ways has trials for each number.
class TrialsByWays {
 public:
  TrialsByWays();
  ~TrialsByWays();
  /// @param kernel, device as LaunchTrials has them: always the same
  LaunchTrials& of(int ways, const std::type_info& kernel, const std::string& device);

 private:
  std::map<int, LaunchTrials> trials_;
};

}  // namespace trellis
