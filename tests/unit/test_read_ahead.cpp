/// Walks that read ahead: both ways compute every block once, and a trial settles on the faster one.
#include <gtest/gtest.h>

#include <vector>

#include "trellis/device/cpu/read_ahead.hpp"

namespace trellis::cpu {
namespace {

TEST(WalkTrial, SettlesOnTheFasterWay) {
  for (const double second : {0.5, 1.0, 2.0}) {
    WalkTrial trial;
    int taken[2] = {0, 0};
    for (int launch = 0; launch < 24; ++launch) {
      ++taken[trial.takes_second()];
      trial.record(trial.takes_second() ? second : 1.0);
    }
    EXPECT_EQ(taken[0], 12);
    EXPECT_EQ(taken[1], 12);
    EXPECT_EQ(trial.takes_second(), second < 1.0) << second;
  }
}

TEST(WalkTrial, StartsAgainAfterManyLaunches) {
  WalkTrial trial;
  for (int launch = 0; launch < (1 << 14); ++launch) trial.record(trial.takes_second() ? 0.5 : 1.0);
  EXPECT_FALSE(trial.takes_second());  // the first way has its turn again
}

TEST(ReadAhead, EveryBlockIsComputedOnceAndReadBefore) {
  const std::vector<int32_t> list = {4, 0, 7, 2, 9, 1, 12, 11, 3, 20};
  const Traffic traffic{20000, size_t(1) << 20};  // groups of four
  WalkTrials trials;
  bool was_read_ahead = false;
  for (int launch = 0; launch < 8; ++launch) {
    std::vector<int> reads(32, 0), computed(32, 0);
    for_each_site_read_ahead(
        SiteRange(list), traffic, trials, [&](int block) { ++reads[size_t(block)]; },
        [&](int block) {
          EXPECT_EQ(reads[size_t(block)], launch / 4);
          ++computed[size_t(block)];
        });
    std::vector<int> expected(32, 0);
    for (const int32_t block : list) expected[size_t(block)] = 1;
    EXPECT_EQ(computed, expected);
    was_read_ahead |= reads == expected;
  }
  EXPECT_TRUE(was_read_ahead);
}

TEST(ReadAhead, NothingIsReadWhereItFitsTheCache) {
  WalkTrials trials;
  for (int launch = 0; launch < 8; ++launch)
    for_each_site_read_ahead(
        SiteRange(5), {20000, 1000}, trials, [](int) { FAIL(); }, [](int) {});
}

}  // namespace
}  // namespace trellis::cpu
