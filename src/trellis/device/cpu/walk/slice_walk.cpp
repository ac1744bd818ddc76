#include "trellis/device/cpu/walk/slice_walk.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/device/launch_count.hpp"

namespace trellis {

namespace {
/// Working sets that a core's own cache may hold gain nothing.
constexpr size_t smallest_set = size_t(4) << 20;

int reach_of(const std::vector<SlicePass>& passes, size_t first) {
  int reach = 0;
  for (size_t i = first; i < passes.size(); ++i) reach += passes[i].reach;
  return reach;
}

bool has_exchange(const SlicePass& pass) { return bool(pass.start); }

bool has_exchanges(const SliceWalk& walk) {
  return std::any_of(walk.passes.begin(), walk.passes.end(), has_exchange);
}

/// Returns over how many slices the last pass needs, one way, what is computed here.
int reach_together(const SliceWalk& walk) { return reach_of(walk.passes, has_exchanges(walk) ? 0 : 1); }

/// A wavefront knows which slices of which passes are done; it computes others in the order in which they are
/// needed.
class Wavefront {
 public:
  Wavefront(const SiteLayout& layout, const SliceWalk& walk)
      : walk_{walk},
        times_{layout.sub_extents()[3]},
        blocks_{layout.blocks() / times_},
        is_done_(walk.passes.size(), std::vector<char>(size_t(times_), 0)),
        is_started_(walk.passes.size(), 0),
        is_finished_(walk.passes.size(), 0) {}

  void compute(size_t pass, int t) {
    char& is_done = is_done_[pass][size_t(t)];
    if (is_done) return;
    const SlicePass& now = walk_.passes[pass];
    if (pass == 0) read_to(t + walk_.read_ahead);
    const bool exchanges = has_exchange(now);
    if (pass > 0)
      for (int s = t - now.reach; s <= t + now.reach; ++s) {
        const bool is_here = s >= 0 && s < times_;
        if (is_here || !exchanges) compute(pass - 1, (s + times_) % times_);
      }
    if (exchanges && (t < now.reach || t >= times_ - now.reach)) finish(pass);
    const PartOfLaunch part;
    now.step(slice(t));
    is_done = 1;
  }
  /// Sends what neighbours need for this pass, which is computed first; does nothing where the pass takes
  /// nothing of them.
  void start(size_t pass) {
    const SlicePass& now = walk_.passes[pass];
    if (!has_exchange(now) || is_started_[pass]) return;
    is_started_[pass] = 1;
    for (int i = 0; pass > 0 && i < now.reach; ++i) {
      compute(pass - 1, i);
      compute(pass - 1, times_ - 1 - i);
    }
    now.start();
  }
  /// Reads slices up to this one; those from `times` on are those from 0 on, again.
  void read_to(int last) {
    if (!walk_.read) return;
    for (; read_ <= last; ++read_) walk_.read(slice(read_ % times_));
  }
  int times() const { return times_; }

 private:
  void finish(size_t pass) {
    if (is_finished_[pass]) return;
    is_finished_[pass] = 1;
    start(pass);
    walk_.passes[pass].finish();
  }
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
  std::vector<char> is_started_, is_finished_;
};

/// Walks around the lattice. The last pass begins so late that the first one goes from slice 0 on in order;
/// the slices that are left over need those from 0 on once more.
void walk_around(Wavefront& wavefront, const SliceWalk& walk) {
  const size_t last = walk.passes.size() - 1;
  const int late = reach_together(walk), times = wavefront.times();
  for (int t = late; t < times; ++t) wavefront.compute(last, t);
  wavefront.read_to(times - 1 + late);
  for (int t = 0; t < late; ++t) wavefront.compute(last, t);
}

/// Walks between ranks. The last pass begins where it needs nothing from other ranks, so that the first
/// exchange has all the time until the first pass comes to the last slices; the second starts as soon as both
/// faces are there, and has what is left of the slices that need nothing of it.
void walk_between_ranks(Wavefront& wavefront, const SliceWalk& walk) {
  const size_t last = walk.passes.size() - 1;
  const int late = reach_together(walk), times = wavefront.times(), reach = walk.passes[last].reach;
  for (size_t pass = 0; pass < last; ++pass)
    if (has_exchange(walk.passes[pass])) {
      wavefront.start(pass);
      break;
    }
  for (int t = late; t < times - reach; ++t) wavefront.compute(last, t);
  wavefront.read_to(times - 1 + late);
  wavefront.start(last);
  for (int t = reach; t < late; ++t) wavefront.compute(last, t);
  for (int t = 0; t < reach; ++t) wavefront.compute(last, t);
  for (int t = times - reach; t < times; ++t) wavefront.compute(last, t);
}
}  // namespace

bool has_whole_slices(const SiteLayout& layout) {
  const Geometry& geometry = layout.geometry();
  return !geometry.is_split(0) && !geometry.is_split(1) && !geometry.is_split(2);
}

bool can_walk_in_slices(const SiteLayout& layout, const SliceWalk& walk) {
  return layout.sub_extents()[3] > 2 * reach_together(walk);
}

void walk_in_slices(const SiteLayout& layout, const SliceWalk& walk) {
  TRELLIS_REQUIRE(can_walk_in_slices(layout, walk), "a walk in slices over ", layout.sub_extents()[3],
                  " time slices, which is not more than its passes reach over");
  const bool exchanges = has_exchanges(walk);
  for (const SlicePass& pass : walk.passes)
    TRELLIS_REQUIRE(has_exchange(pass) == (exchanges && pass.reach > 0),
                    "a walk in slices: some passes reach over slices of other ranks and some do not");
  // A pass that waits for other ranks is launched apart for what it can do before.
  for (const SlicePass& pass : walk.passes) count_launches(has_exchange(pass) ? 2 : 1);
  Wavefront wavefront(layout, walk);
  exchanges ? walk_between_ranks(wavefront, walk) : walk_around(wavefront, walk);
}

void walk_in_order(PassOrder order, const SiteLayout& layout,
                   const std::function<SliceWalk(PassOrder)>& walk_of, const LaunchSubject& subject,
                   LaunchTrials& trials, const std::function<void()>& apart) {
  const auto walk = [&](PassOrder chosen) {
    chosen == PassOrder::apart ? apart() : walk_in_slices(layout, walk_of(chosen));
  };
  if (order != PassOrder::faster) return walk(order);
  if (subject.working_set < smallest_set || !can_walk_in_slices(layout, walk_of(PassOrder::in_slices)))
    return apart();
  static constexpr PassOrder orders[slice_orders] = {PassOrder::apart, PassOrder::in_slices,
                                                     PassOrder::in_slices_read};
  trials.launch(subject, layout.blocks(), [&](int way) { walk(orders[way]); });
}

size_t near_set(size_t working_set, const SiteLayout& layout, int reach) {
  const size_t times = size_t(layout.sub_extents()[3]);
  return working_set / times * std::min(times, size_t(2 * reach + 2));
}

}  // namespace trellis
