/// In walks that read ahead all ways compute every block once, and a trial settles on the fastest one.
#include <gtest/gtest.h>

#include <vector>

#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/device/threads.hpp"

namespace trellis::cpu {
namespace in_test_read_ahead {

/// Returns the launches of each way out of so many, when the ways take such times.
std::vector<int> launches_of(LaunchTrial& trial, const std::vector<double>& seconds, int launches) {
  std::vector<int> taken(seconds.size(), 0);
  for (int launch = 0; launch < launches; ++launch) {
    const int way = trial.way();
    ++taken[size_t(way)];
    trial.record(seconds[size_t(way)]);
  }
  return taken;
}

TEST(LaunchTrial, SettlesOnTheFasterWay) {
  for (const double second : {0.9, 1.0, 1.1}) {
    LaunchTrial trial;
    EXPECT_EQ(launches_of(trial, {1.0, second}, 24), (std::vector<int>{12, 12}));
    EXPECT_EQ(trial.takes_second(), second < 1.0) << second;
  }
}

TEST(LaunchTrial, SettlesOnTheFastestOfThree) {
  const double worse = 1.05, same = 0.99, better = 0.9;
  const struct {
    double second, third;
    int fastest;
  } cases[] = {{worse, better, 2}, {better, worse, 1}, {better, better * same, 2}, {same, worse, 0}};
  for (const auto& c : cases) {
    LaunchTrial trial(3);
    EXPECT_EQ(launches_of(trial, {1.0, c.second, c.third}, 36), (std::vector<int>{12, 12, 12}));
    EXPECT_EQ(trial.way(), c.fastest) << c.second << " " << c.third;
  }
}

TEST(LaunchTrial, WaysThatAreMuchSlowerHaveFewerTurns) {
  LaunchTrial trial(3);
  EXPECT_EQ(launches_of(trial, {1.0, 1.5, 0.9}, 32), (std::vector<int>{12, 8, 12}));
  EXPECT_EQ(trial.way(), 2);
  LaunchTrial clear(2);
  EXPECT_EQ(launches_of(clear, {1.0, 0.4}, 20), (std::vector<int>{4, 16}));
}

/// Neighbours on the machine take the caches during some launches.
TEST(LaunchTrial, AWayThatWasDisturbedInItsFirstTurnHasAnotherOne) {
  LaunchTrial trial(2);
  for (int launch = 0; launch < 24; ++launch) trial.record(trial.way() == 0 ? 1.0 : launch < 8 ? 1.5 : 0.8);
  EXPECT_FALSE(trial.is_trying());
  EXPECT_EQ(trial.way(), 1);
}

TEST(LaunchTrial, StartsAgainAfterManyLaunches) {
  LaunchTrial trial;
  for (int launch = 0; launch < (1 << 14); ++launch) trial.record(trial.takes_second() ? 0.5 : 1.0);
  EXPECT_FALSE(trial.takes_second());  // the first way has its turn again
}

TEST(ReadAhead, EveryBlockIsComputedOnceAndReadBefore) {
  const std::vector<int32_t> list = {4, 0, 7, 2, 9, 1, 12, 11, 3, 20};
  const Traffic traffic{20000, size_t(1) << 20};  // this makes groups of four
  LaunchTrials trials(ways_ahead);
  set_thread_count(1);  // the first block of each thread's share is not asked for
  for (int launch = 0; launch < 12; ++launch) {
    const Ahead ahead = Ahead(launch / 4);
    std::vector<int> brought(32, 0), computed(32, 0);
    for_each_site_read_ahead(
        SiteRange(list), traffic, trials,
        [&](int block, const auto& lines) {
          EXPECT_EQ(&lines == &read_lines, ahead == Ahead::read);
          ++brought[size_t(block)];
        },
        in_every_way([&](int block) {
          const bool is_asked_for = ahead == Ahead::ask && block != list[0];
          EXPECT_EQ(brought[size_t(block)], ahead == Ahead::read || is_asked_for) << block;
          ++computed[size_t(block)];
        }));
    std::vector<int> expected(32, 0);
    for (const int32_t block : list) expected[size_t(block)] = 1;
    EXPECT_EQ(computed, expected);
    if (ahead == Ahead::nothing) expected.assign(32, 0);
    if (ahead == Ahead::ask) expected[size_t(list[0])] = 0;
    EXPECT_EQ(brought, expected);
  }
}

TEST(ReadAhead, NothingIsReadWhereItFitsTheCache) {
  LaunchTrials trials(ways_ahead);
  for (int launch = 0; launch < 12; ++launch)
    for_each_site_read_ahead(
        SiteRange(5), {20000, 1000}, trials, [](int, const auto&) { FAIL(); }, in_every_way([](int) {}));
}

/// A kernel is made for each launch: one of four ways tells it to ask three blocks ahead.
TEST(ReadAhead, KernelsThatAskForThemselvesAreTold) {
  const Traffic traffic{20000, size_t(1) << 20};
  LaunchTrials trials(ways_ahead_along);
  int asking = 0, silent = 0;
  for (int launch = 0; launch < 4 * ways_ahead_along; ++launch) {
    std::vector<int> computed(40, 0);
    const auto make = [&](int blocks_ahead) {
      ++(blocks_ahead == 3 ? asking : silent);
      return blocks_ahead;
    };
    const auto compute = [&](int blocks_ahead, int block) {
      EXPECT_TRUE(blocks_ahead == 3 || blocks_ahead == 0);
      ++computed[size_t(block)];
    };
    for_each_site_read_ahead(
        SiteRange(40), traffic, trials, [](int, const auto&) {}, asking_along(3, make, compute));
    EXPECT_EQ(computed, std::vector<int>(40, 1)) << launch;
  }
  EXPECT_EQ(asking, 4);
  EXPECT_EQ(silent, 12);
}

}  // namespace in_test_read_ahead
}  // namespace trellis::cpu
