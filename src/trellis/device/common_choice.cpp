#include "trellis/device/common_choice.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// A way has so many runs in its turn, and so many turns: neighbours on a shared machine come and go.
constexpr int runs_in_turn = 8, turns = 3;
/// Another way than the default has to be faster by this.
constexpr double worthwhile = 0.98;

/// The deciding rank tells the others this.
struct Plan {
  int way = 0;
  int ways = 0;             ///< so many ways are there
  bool is_tried = false;    ///< all ways are tried
  bool is_checked = false;  ///< the cached way is checked
  TunedChoice cached = {};
};

/// These keys have a cached choice that was tried or looked at in this process.
class Settled {
 public:
  bool has(const TuneKey& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return keys_.contains(key);
  }
  void add(const TuneKey& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    keys_.insert(key);
  }

 private:
  mutable std::mutex mutex_;
  std::set<TuneKey> keys_;
};
Settled& settled() {
  static Settled keys;
  return keys;
}

Plan plan_for(const TuneKey& key, const std::vector<int>& ways) {
  Plan plan{.way = ways.front(), .ways = int(ways.size())};
  const TuneMode mode = tuner().mode();
  if (mode == TuneMode::off || ways.size() == 1) return plan;
  const auto found = tuner().find(key);
  const bool is_found = found && std::find(ways.begin(), ways.end(), found->way) != ways.end();
  if (is_found) {
    plan.way = found->way;
    plan.cached = *found;
  }
  plan.is_tried = mode == TuneMode::on && !is_found;
  plan.is_checked = mode == TuneMode::on && is_found && !settled().has(key);
  return plan;
}

/// Returns for each way the least time of a run, on the rank where that is largest.
std::vector<double> measure(const std::vector<int>& ways, const RankAgreement& ranks,
                            const Attempt& attempt) {
  std::vector<std::function<void()>> works;
  works.reserve(ways.size());
  for (const int way : ways) works.push_back(attempt(way));
  for (const auto& work : works) work();  // the first run touches memory
  std::vector<double> least(ways.size(), std::numeric_limits<double>::infinity());
  for (int turn = 0; turn < turns; ++turn)
    for (size_t i = 0; i < works.size(); ++i) {
      const double start = seconds_now();
      for (int run = 0; run < runs_in_turn; ++run) works[i]();
      least[i] = std::min(least[i], (seconds_now() - start) / runs_in_turn);
    }
  for (double& seconds : least) seconds = ranks.maximum(seconds);
  return least;
}
}  // namespace

int choose_together(const TuneKey& key, std::vector<int> ways, const RankAgreement& ranks,
                    const Attempt& attempt) {
  TRELLIS_REQUIRE(!ways.empty(), "the tuner chooses among ways, found none");
  Plan plan;
  if (ranks.decides) plan = plan_for(key, ways);
  ranks.broadcast(&plan, sizeof(plan));
  int repeats = 0;
  if (plan.is_checked && measure({plan.way}, ranks, attempt).front() > too_slow * plan.cached.seconds) {
    plan.is_tried = true;
    repeats = plan.cached.repeats + 1;
  }
  if (plan.is_tried) {
    ways.resize(size_t(plan.ways));
    ranks.broadcast(ways.data(), ways.size() * sizeof(int));
    const std::vector<double> seconds = measure(ways, ranks, attempt);
    const size_t fastest = size_t(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
    const size_t taken = seconds[fastest] < worthwhile * seconds.front() ? fastest : 0;
    plan.way = ways[taken];
    if (ranks.decides) tuner().record(key, {plan.way, seconds[taken], repeats});
  }
  if (ranks.decides && (plan.is_tried || plan.is_checked)) settled().add(key);
  return plan.way;
}

}  // namespace trellis
