// threads: 2
/// Passes that go through the lattice together, in time slices, take every block once, and what a pass takes
/// is there before. (parallel/test_two_hops compares the bits.)
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/cpu/walk/slice_walk.hpp"
#include "trellis/field/hop_links.hpp"

namespace trellis {
namespace in_test_slice_walk {

GaugeField links(const LatticePtr& lattice, uint64_t seed) {
  return test::to_product(lattice, test::random_gauge(lattice->extents(), seed));
}

/// Checks each step against the slices that the pass before has finished.
void expect_complete_and_in_order(const SiteLayout& layout, const std::vector<int>& reaches) {
  const int times = layout.sub_extents()[3], blocks = layout.blocks() / times;
  std::vector<std::vector<int>> visits(reaches.size(), std::vector<int>(size_t(times), 0));
  std::vector<SlicePass> passes;
  for (size_t pass = 0; pass < reaches.size(); ++pass) {
    const int reach = reaches[pass];
    passes.push_back({[&, pass, reach](const SiteRange& sites) {
                        ASSERT_EQ(sites.size(), blocks);
                        ASSERT_EQ(sites.list, nullptr);
                        const int t = sites.begin / blocks;
                        for (int s = t - reach; pass > 0 && s <= t + reach; ++s) {
                          EXPECT_EQ(visits[pass - 1][size_t((s + times) % times)], 1);
                        }
                        ++visits[pass][size_t(t)];
                      },
                      reach});
  }
  const auto expect_one_visit = [&] {
    for (const auto& of_pass : visits)
      for (const int count : of_pass) EXPECT_EQ(count, 1);
  };
  ASSERT_TRUE(can_walk_in_slices(layout, {passes, {}, 0}));
  walk_in_slices(layout, {passes, {}, 0});
  expect_one_visit();

  for (auto& of_pass : visits) of_pass.assign(size_t(times), 0);
  const int ahead = 1;
  std::vector<int> reads;
  const SliceStep first = passes[0].step;
  passes[0].step = [&](const SiteRange& sites) {
    EXPECT_EQ(int(reads.size()), sites.begin / blocks + 1 + ahead) << "slices in order, read before";
    first(sites);
  };
  walk_in_slices(layout,
                 {passes, [&](const SiteRange& sites) { reads.push_back(sites.begin / blocks); }, ahead});
  expect_one_visit();
  const int late = std::accumulate(reaches.begin() + 1, reaches.end(), 0);
  ASSERT_EQ(int(reads.size()), times + std::max(ahead, late)) << "those that come again are read again";
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(reads[i], int(i) % times);
}

TEST(SliceWalk, computes_every_slice_once_and_what_it_needs_before) {
  const SiteLayout layout(Geometry({8, 8, 8, 20}), 16);
  for (const std::vector<int>& reaches : {std::vector{0}, std::vector{0, 1}, std::vector{0, 3},
                                          std::vector{0, 1, 1}, std::vector{0, 1, 1, 1, 1}})
    expect_complete_and_in_order(layout, reaches);
}

TEST(SliceWalk, refuses_passes_that_reach_around_the_lattice) {
  const SiteLayout layout(Geometry({4, 4, 4, 6}), 1);
  const auto nothing = [](const SiteRange&) {};
  const std::vector<SlicePass> passes = {{nothing, 0}, {nothing, 3}};
  EXPECT_FALSE(can_walk_in_slices(layout, {passes, {}, 0}));
  EXPECT_THROW(walk_in_slices(layout, {passes, {}, 0}), BadArgument);
  LaunchTrials trials(slice_orders);
  int calls = 0;
  walk_in_order(
      PassOrder::faster, layout,
      [&](PassOrder) {
        return SliceWalk{passes, {}, 0};
      },
      {size_t(1) << 30}, trials, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

/// Checks that between ranks each exchange happens once, after what it sends and before what takes it.
void expect_exchanges_in_order(const SiteLayout& layout, const std::vector<int>& reaches) {
  const int times = layout.sub_extents()[3], blocks = layout.blocks() / times;
  std::vector<std::vector<int>> visits(reaches.size(), std::vector<int>(size_t(times), 0));
  std::vector<int> starts(reaches.size(), 0), ends(reaches.size(), 0);
  std::vector<size_t> in_flight;
  std::vector<SlicePass> passes;
  for (size_t pass = 0; pass < reaches.size(); ++pass) {
    const int reach = reaches[pass];
    SlicePass now;
    now.reach = reach;
    now.step = [&, pass, reach](const SiteRange& sites) {
      const int t = sites.begin / blocks;
      for (int s = t - reach; pass > 0 && s <= t + reach; ++s) {
        if (s >= 0 && s < times) {
          EXPECT_EQ(visits[pass - 1][size_t(s)], 1);
        }
      }
      if (t < reach || t >= times - reach) {
        EXPECT_EQ(ends[pass], 1) << "pass " << pass << ", slice " << t;
      }
      ++visits[pass][size_t(t)];
    };
    if (reach > 0) {
      now.start = [&, pass, reach] {
        EXPECT_TRUE(in_flight.empty()) << "one exchange at a time";
        for (int i = 0; pass > 0 && i < reach; ++i) {
          EXPECT_EQ(visits[pass - 1][size_t(i)], 1);
          EXPECT_EQ(visits[pass - 1][size_t(times - 1 - i)], 1);
        }
        in_flight.push_back(pass);
        ++starts[pass];
      };
      now.finish = [&, pass] {
        ASSERT_EQ(in_flight, std::vector<size_t>{pass});
        in_flight.clear();
        ++ends[pass];
      };
    }
    passes.push_back(now);
  }
  std::vector<int> reads;
  const SliceWalk walk{passes, [&](const SiteRange& sites) { reads.push_back(sites.begin / blocks); }, 1};
  ASSERT_TRUE(can_walk_in_slices(layout, walk));
  walk_in_slices(layout, walk);
  for (const auto& of_pass : visits)
    for (const int count : of_pass) EXPECT_EQ(count, 1);
  for (size_t pass = 0; pass < reaches.size(); ++pass) {
    EXPECT_EQ(starts[pass], reaches[pass] > 0);
    EXPECT_EQ(ends[pass], reaches[pass] > 0);
  }
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_EQ(reads[i], int(i) % times);
  EXPECT_GE(int(reads.size()), times);
}

TEST(SliceWalk, exchanges_with_other_ranks_once_and_in_time) {
  const SiteLayout layout(Geometry({8, 8, 8, 20}), 16);
  for (const std::vector<int>& reaches :
       {std::vector{1}, std::vector{1, 1}, std::vector{0, 1, 1}, std::vector{3, 1}, std::vector{1, 3},
        std::vector{1, 0}, std::vector{0, 1, 1, 1}})
    expect_exchanges_in_order(layout, reaches);
}

TEST(SliceWalk, refuses_exchanges_of_some_passes_only) {
  const SiteLayout layout(Geometry({4, 4, 4, 12}), 1);
  const auto nothing = [](const SiteRange&) {};
  const SliceWalk walk{{{nothing, 1, [] {}, [] {}}, {nothing, 1}}, {}, 0};
  EXPECT_THROW(walk_in_slices(layout, walk), BadArgument);
}

/// The bytes that are read before a walk are the links, no byte more or less.
TEST(BlockStreams, of_links_are_all_links) {
  const GaugeField U = links(make_lattice({4, 4, 8, 8}), 1);
  for (const int link_reals : {18, 12}) {
    const HopLinks stored(U, Precision::double_precision, link_reals);
    const size_t blocks = size_t(stored.layout().blocks());
    const char* end = nullptr;
    size_t bytes = 0;
    for (const BlockStream& stream : stored.streams()) {
      if (end != nullptr) {
        EXPECT_EQ(stream.data, end);
      }
      end = static_cast<const char*>(stream.data) + blocks * stream.block_bytes;
      bytes += blocks * stream.block_bytes;
    }
    EXPECT_EQ(bytes, stored.bytes());
  }
}

}  // namespace in_test_slice_walk
}  // namespace trellis
