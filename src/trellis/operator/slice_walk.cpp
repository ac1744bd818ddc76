#include "trellis/operator/slice_walk.hpp"

#include <chrono>

#include "trellis/base/error.hpp"
#include "trellis/device/cpu/walk_trial.hpp"

namespace trellis {

namespace {
/// Working sets that a core's own cache may hold gain nothing.
constexpr size_t smallest_set = size_t(4) << 20;

/// Which slices of which passes are done; computes others in the order in which they are needed.
class Wavefront {
 public:
  Wavefront(const SiteLayout& layout, const std::vector<SlicePass>& passes)
      : passes_{passes},
        times_{layout.sub_extents()[3]},
        blocks_{layout.blocks() / times_},
        is_done_(passes.size(), std::vector<char>(size_t(times_), 0)) {}

  void compute(int pass, int t) {
    char& is_done = is_done_[size_t(pass)][size_t(t)];
    if (is_done) return;
    const int reach = passes_[size_t(pass)].reach;
    if (pass > 0)
      for (int s = t - reach; s <= t + reach; ++s) compute(pass - 1, (s + times_) % times_);
    SiteRange slice;  // blocks lie in the order of their times
    slice.begin = t * blocks_;
    slice.end = (t + 1) * blocks_;
    passes_[size_t(pass)].step(slice);
    is_done = 1;
  }

 private:
  const std::vector<SlicePass>& passes_;
  int times_, blocks_;
  std::vector<std::vector<char>> is_done_;
};
}  // namespace

bool can_walk_in_slices(const SiteLayout& layout, const std::vector<SlicePass>& passes) {
  int reach = 0;
  for (const SlicePass& pass : passes) reach += pass.reach;
  return layout.sub_extents()[3] > 2 * reach;
}

void walk_in_slices(const SiteLayout& layout, const std::vector<SlicePass>& passes) {
  TRELLIS_REQUIRE(can_walk_in_slices(layout, passes), "a walk in slices over ", layout.sub_extents()[3],
                  " time slices, which is not more than its passes reach over");
  Wavefront wavefront(layout, passes);
  for (int t = 0; t < layout.sub_extents()[3]; ++t) wavefront.compute(int(passes.size()) - 1, t);
}

void walk_in_order(PassOrder order, const SiteLayout& layout, const std::vector<SlicePass>& passes,
                   size_t working_set, const std::function<void()>& apart) {
  if (order == PassOrder::in_slices) return walk_in_slices(layout, passes);
  if (order == PassOrder::apart || working_set < smallest_set || !can_walk_in_slices(layout, passes))
    return apart();
  thread_local cpu::WalkTrials trials;
  cpu::WalkTrial& trial = trials.of(working_set);
  const auto start = std::chrono::steady_clock::now();
  trial.takes_second() ? walk_in_slices(layout, passes) : apart();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  trial.record(seconds.count() / layout.blocks());
}

}  // namespace trellis
