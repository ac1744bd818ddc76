#include "trellis/device/tuner.hpp"

#include <cstdlib>

#include "trellis/base/error.hpp"
#include "trellis/device/kernel_source_hash.hpp"

namespace trellis {

const char* name_of(TuneMode mode) {
  switch (mode) {
    case TuneMode::off:
      return "off";
    case TuneMode::read:
      return "read";
    case TuneMode::on:
      return "on";
  }
  throw BadArgument("mode of the tuner out of range");
}

TuneMode tune_mode_by_name(const std::string& name) {
  for (const TuneMode mode : {TuneMode::off, TuneMode::read, TuneMode::on})
    if (name == name_of(mode)) return mode;
  throw BadArgument(message("the tuner is off, read or on, found '", name, "'"));
}

bool is_better(const TunedChoice& a, const TunedChoice& b) {
  if (a.repeats != b.repeats) return a.repeats > b.repeats;
  return a.seconds < b.seconds;
}

std::optional<TunedChoice> Tuner::find(const TuneKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = choices_.find(key);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

bool Tuner::keep(const TuneKey& key, const TunedChoice& choice) {
  const auto [place, is_new] = choices_.try_emplace(key, choice);
  const bool is_kept = is_new || is_better(choice, place->second);
  if (is_kept) place->second = choice;
  size_.store(choices_.size(), std::memory_order_relaxed);
  return is_kept;
}

void Tuner::fill(const TuneKey& key, const TunedChoice& choice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  keep(key, choice);
}

void Tuner::record(const TuneKey& key, const TunedChoice& choice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (keep(key, choice)) records_[key] = choice;
}

std::map<TuneKey, TunedChoice> Tuner::take_records() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<TuneKey, TunedChoice> taken;
  taken.swap(records_);
  return taken;
}

Tuner& tuner() {
  static Tuner tuner([] {
    const char* words = std::getenv("TRELLIS_TUNE");
    if (words == nullptr || *words == 0) return TuneMode::read;
    try {
      return tune_mode_by_name(words);
    } catch (const BadArgument&) {
      throw BadArgument(message("TRELLIS_TUNE is off, read or on, found '", words, "'"));
    }
  }());
  return tuner;
}

const char* kernel_source_hash() { return kernel_source::hash; }

}  // namespace trellis
