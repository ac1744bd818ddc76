#include "trellis/operator/slice_walk.hpp"

#include <algorithm>
#include <chrono>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Working sets that a core's own cache may hold gain nothing.
constexpr size_t smallest_set = size_t(4) << 20;

int reach_behind_first(const std::vector<SlicePass>& passes) {
  int reach = 0;
  for (size_t i = 1; i < passes.size(); ++i) reach += passes[i].reach;
  return reach;
}

/// Which slices of which passes are done; computes others in the order in which they are needed.
class Wavefront {
 public:
  Wavefront(const SiteLayout& layout, const SliceWalk& walk)
      : walk_{walk},
        times_{layout.sub_extents()[3]},
        blocks_{layout.blocks() / times_},
        is_done_(walk.passes.size(), std::vector<char>(size_t(times_), 0)) {}

  void compute(int pass, int t) {
    char& is_done = is_done_[size_t(pass)][size_t(t)];
    if (is_done) return;
    const SlicePass& now = walk_.passes[size_t(pass)];
    if (pass == 0) read_to(t + walk_.read_ahead);
    if (pass > 0)
      for (int s = t - now.reach; s <= t + now.reach; ++s) compute(pass - 1, (s + times_) % times_);
    now.step(slice(t));
    is_done = 1;
  }
  /// Slices from `times` on are those from 0 on, again.
  void read_to(int last) {
    if (!walk_.read) return;
    for (; read_ <= last; ++read_) walk_.read(slice(read_ % times_));
  }
  int times() const { return times_; }

 private:
  SiteRange slice(int t) const {
    SiteRange slice;  // blocks lie in the order of their times
    slice.begin = t * blocks_;
    slice.end = (t + 1) * blocks_;
    return slice;
  }
  const SliceWalk& walk_;
  int times_, blocks_;
  int read_ = 0;
  std::vector<std::vector<char>> is_done_;
};
}  // namespace

bool can_walk_in_slices(const SiteLayout& layout, const SliceWalk& walk) {
  return layout.sub_extents()[3] > 2 * reach_behind_first(walk.passes);
}

/// The last pass begins so late that the first one goes from slice 0 on in order; the slices that are left
/// over need those from 0 on once more.
void walk_in_slices(const SiteLayout& layout, const SliceWalk& walk) {
  TRELLIS_REQUIRE(can_walk_in_slices(layout, walk), "a walk in slices over ", layout.sub_extents()[3],
                  " time slices, which is not more than its passes reach over");
  Wavefront wavefront(layout, walk);
  const int last = int(walk.passes.size()) - 1, times = wavefront.times();
  const int late = reach_behind_first(walk.passes);
  for (int t = late; t < times; ++t) wavefront.compute(last, t);
  wavefront.read_to(times - 1 + late);
  for (int t = 0; t < late; ++t) wavefront.compute(last, t);
}

void walk_in_order(PassOrder order, const SiteLayout& layout,
                   const std::function<SliceWalk(PassOrder)>& walk_of, size_t working_set,
                   cpu::WalkTrials& trials, const std::function<void()>& apart) {
  const auto walk = [&](PassOrder chosen) {
    chosen == PassOrder::apart ? apart() : walk_in_slices(layout, walk_of(chosen));
  };
  if (order != PassOrder::faster) return walk(order);
  if (working_set < smallest_set || !can_walk_in_slices(layout, walk_of(PassOrder::in_slices)))
    return apart();
  static constexpr PassOrder orders[slice_orders] = {PassOrder::apart, PassOrder::in_slices,
                                                     PassOrder::in_slices_read};
  cpu::WalkTrial& trial = trials.of(working_set);
  const auto start = std::chrono::steady_clock::now();
  walk(orders[trial.way()]);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  trial.record(seconds.count() / layout.blocks());
}

size_t near_set(size_t working_set, const SiteLayout& layout, int reach) {
  const size_t times = size_t(layout.sub_extents()[3]);
  return working_set / times * std::min(times, size_t(2 * reach + 2));
}

}  // namespace trellis
