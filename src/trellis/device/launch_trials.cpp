#include "trellis/device/launch_trials.hpp"

#include <cxxabi.h>

#include <bit>
#include <cstdlib>
#include <memory>

#include "trellis/device/threads.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis {

namespace {
/// The fastest of so many launches is compared with the record.
constexpr int watched_launches = 64;
/// Of the launches that a queue holds, so many pass for each that is watched.
constexpr int launches_between_watched = 16;

/// Returns the name of a type as it is written, or the name itself.
std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}
}  // namespace

LaunchTrials::LaunchTrials(int ways, const char* kernel, std::string device)
    : ways_{ways}, kernel_{kernel}, device_{std::move(device)} {}
LaunchTrials::~LaunchTrials() = default;

TuneKey LaunchTrials::key(const LaunchSubject& subject) const {
  TuneKey key;
  key.kernel = readable(kernel_);
  if (!device_.empty()) key.kernel += " on " + device_;
  key.storage = subject.storage;
  if (subject.geometry) {
    key.lattice = to_string(subject.geometry->lattice());
    key.cut = to_string(subject.geometry->grid().extents());
  }
  key.columns = subject.columns;
  key.threads = thread_count();
  key.working_set_bits = int(std::bit_width(subject.working_set));
  return key;
}

LaunchTrials::Begun LaunchTrials::begin(const LaunchSubject& subject) {
  if (tuner().mode() == TuneMode::off) return {nullptr, 0};
  const int bits = int(std::bit_width(subject.working_set));
  Trial& trial = trials_.try_emplace(bits, Trial{LaunchTrial(ways_)}).first->second;
  if (trial.ways.begins() && !trial.is_repeated) ask(trial, subject);
  return {&trial, trial.ways.way()};
}

void LaunchTrials::ask(Trial& trial, const LaunchSubject& subject) const {
  trial.is_cached = false;
  if (*kernel_ == 0 || tuner().is_empty()) return;
  const auto found = tuner().find(key(subject));
  if (!found || found->way < 0 || found->way >= ways_) return;
  trial.ways.settle(found->way);
  trial.cached = *found;
  trial.is_cached = true;
}

void LaunchTrials::end(const Begun& begun, const LaunchSubject& subject, double seconds) {
  Trial& trial = *begun.trial;
  const bool was_trying = trial.ways.is_trying();
  trial.ways.record(seconds);
  if (trial.is_cached) return watch(trial, seconds);
  if (tuner().mode() != TuneMode::on || *kernel_ == 0 || !was_trying || trial.ways.is_trying()) return;
  const int repeats = trial.is_repeated ? trial.cached.repeats + 1 : 0;
  tuner().record(key(subject), {trial.ways.way(), trial.ways.least_seconds(), repeats});
  trial.is_repeated = false;
}

bool LaunchTrials::is_watched_in_queue(Trial& trial) {
  return trial.is_cached && ++trial.in_queue % launches_between_watched == 0;
}

void LaunchTrials::watch(Trial& trial, double seconds) const {
  trial.least = std::min(trial.least, seconds);
  if (++trial.watched < watched_launches) return;
  if (trial.least > too_slow * trial.cached.seconds) {
    trial.ways = LaunchTrial(ways_);
    trial.is_cached = false;
    trial.is_repeated = true;
  }
  trial.least = std::numeric_limits<double>::infinity();
  trial.watched = 0;
}

TrialsByWays::TrialsByWays() = default;
TrialsByWays::~TrialsByWays() = default;
LaunchTrials& TrialsByWays::of(int ways, const std::type_info& kernel, const std::string& device) {
  return trials_.try_emplace(ways, ways, kernel, device).first->second;
}

}  // namespace trellis
