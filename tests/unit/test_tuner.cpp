/// The tuner keeps the better choice, and walks take what it has, record what they find, and try again what
/// has become slow. (tests/python/ground/test_tuning.py has its files and the bits of runs.)
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "trellis/base/error.hpp"
#include "trellis/device/launch_trials.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::cpu {
namespace in_test_tuner {

TEST(Tuner, KeepsTheBetterChoice) {
  Tuner tuner;
  const TuneKey key{"hop", "double", "8x8x8x16", "1x1x1x1", 1, 1, 20};
  TuneKey other = key;
  other.columns = 12;
  EXPECT_TRUE(tuner.is_empty());
  tuner.fill(key, {1, 2e-6, 0});
  tuner.fill(key, {2, 3e-6, 0});  // it is slower
  EXPECT_EQ(tuner.find(key)->way, 1);
  EXPECT_FALSE(tuner.find(other));
  tuner.record(key, {2, 3e-6, 0});
  EXPECT_TRUE(tuner.take_records().empty()) << "slower than what there is";
  tuner.record(key, {0, 4e-6, 1});  // it is slower, but tried again
  EXPECT_EQ(tuner.find(key)->way, 0);
  EXPECT_EQ(tuner.take_records().size(), 1u);
  EXPECT_TRUE(tuner.take_records().empty());
}

TEST(Tuner, HasThreeModes) {
  for (const char* name : {"off", "read", "on"}) EXPECT_STREQ(name_of(tune_mode_by_name(name)), name);
  EXPECT_THROW(tune_mode_by_name("On"), BadArgument);
}

/// This class restores the mode of the process, of which every test of walks makes its own use.
class TunedWalks : public ::testing::Test {
 protected:
  void TearDown() override {
    tuner().set_mode(TuneMode::read);
    tuner().take_records();
  }
  /// Returns the ways of so many launches, of which each takes a few microseconds, and `slow` a hundred times
  /// as many.
  std::vector<int> ways_of(LaunchTrials& trials, int launches, int slow = -1) {
    std::vector<int> ways;
    for (int i = 0; i < launches; ++i)
      trials.launch(subject, 1, [&](int way) {
        ways.push_back(way);
        std::this_thread::sleep_for(std::chrono::microseconds(way == slow ? 3000 : 30));
      });
    return ways;
  }
  TuneKey key(const std::string& kernel) const {
    return {kernel, "double", "8x8x8x16", "1x1x1x1", 12, thread_count(), 21};
  }

  const Geometry geometry{Coord{8, 8, 8, 16}};
  const LaunchSubject subject{size_t(1) << 20, &geometry, 12, "double"};
};

TEST_F(TunedWalks, OffTakesTheFirstWay) {
  tuner().set_mode(TuneMode::off);
  tuner().fill(key("off"), {1, 1e-6, 0});
  LaunchTrials trials(2, "off");
  EXPECT_EQ(ways_of(trials, 20), std::vector<int>(20, 0));
}

TEST_F(TunedWalks, ReadTakesTheCachedWayAndElseTries) {
  tuner().set_mode(TuneMode::read);
  tuner().fill(key("read"), {1, 1.0, 0});
  LaunchTrials cached(2, "read"), unknown(2, "unknown"), nameless(2);
  EXPECT_EQ(ways_of(cached, 70), std::vector<int>(70, 1));
  for (LaunchTrials* trials : {&unknown, &nameless}) {
    const std::vector<int> ways = ways_of(*trials, 8);
    EXPECT_EQ(ways, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  }
  EXPECT_TRUE(tuner().take_records().empty());
}

TEST_F(TunedWalks, AForeignWayIsTried) {
  tuner().fill(key("foreign"), {7, 1e-9, 0});
  LaunchTrials trials(2, "foreign");
  EXPECT_EQ(ways_of(trials, 5), (std::vector<int>{0, 0, 0, 0, 1}));
}

TEST_F(TunedWalks, OnRecordsWhatATrialFinds) {
  tuner().set_mode(TuneMode::on);
  LaunchTrials trials(2, "recorded");
  ways_of(trials, 24, 0);
  const auto records = tuner().take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.begin()->first, key("recorded"));
  EXPECT_EQ(records.begin()->second.way, 1);
  EXPECT_GT(records.begin()->second.seconds, 20e-6);
  EXPECT_EQ(records.begin()->second.repeats, 0);
  LaunchTrials later(2, "recorded");
  EXPECT_EQ(ways_of(later, 3), std::vector<int>(3, 1));
}

TEST_F(TunedWalks, ReadTriesAgainWhatHasBecomeSlowAndRecordsNothing) {
  tuner().set_mode(TuneMode::read);
  tuner().fill(key("slow to read"), {1, 1e-6, 0});
  LaunchTrials trials(2, "slow to read");
  EXPECT_EQ(ways_of(trials, 64, 1), std::vector<int>(64, 1)) << "that many are watched";
  EXPECT_EQ(ways_of(trials, 8, 1), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(ways_of(trials, 70, 1), std::vector<int>(70, 0)) << "the cache is not asked again";
  EXPECT_TRUE(tuner().take_records().empty());
  EXPECT_EQ(tuner().find(key("slow to read"))->way, 1);
}

TEST_F(TunedWalks, OnTriesAgainWhatHasBecomeSlow) {
  tuner().set_mode(TuneMode::on);
  tuner().fill(key("slow"), {1, 1e-6, 0});
  LaunchTrials trials(2, "slow");
  EXPECT_EQ(ways_of(trials, 64), std::vector<int>(64, 1)) << "that many are watched";
  ways_of(trials, 24, 1);
  const auto records = tuner().take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.begin()->second.way, 0);
  EXPECT_EQ(records.begin()->second.repeats, 1);
  EXPECT_EQ(tuner().find(key("slow"))->way, 0) << "though it is slower than the old record";
}

TEST_F(TunedWalks, KernelsAreNamedByTheirTypes) {
  tuner().set_mode(TuneMode::on);
  LaunchTrials trials(2, typeid(LaunchTrial));
  ways_of(trials, 24, 1);
  const auto records = tuner().take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.begin()->first.kernel, "trellis::LaunchTrial");
}

/// Launches that do not wait for their kernels time them as long as a trial lasts only.
TEST_F(TunedWalks, QueuedLaunchesAreTimedWhileTheyAreTried) {
  tuner().set_mode(TuneMode::on);
  LaunchTrials trials(2, "queued", "a GPU");
  std::vector<int> ways, timed;
  const auto launch = [&](LaunchTrials& own) {
    own.launch_in_queue(subject, 10, [&](int way, bool is_timed) {
      ways.push_back(way);
      if (is_timed) timed.push_back(way);
      return way == 0 ? 3e-3 : 1e-3;
    });
  };
  for (int i = 0; i < 40; ++i) launch(trials);
  EXPECT_EQ(timed, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1})) << "one round: way 0 is hopeless";
  EXPECT_EQ(std::vector<int>(ways.begin() + 8, ways.end()), std::vector<int>(32, 1));
  const auto records = tuner().take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.begin()->first, key("queued on a GPU"));
  EXPECT_DOUBLE_EQ(records.begin()->second.seconds, 1e-4);
  timed.clear();
  LaunchTrials later(2, "queued", "a GPU");
  for (int i = 0; i < 80; ++i) launch(later);
  EXPECT_EQ(timed, std::vector<int>(80 / 16, 1)) << "a way from the cache seldom holds the queue up";
  EXPECT_EQ(ways.back(), 1);
}

TEST_F(TunedWalks, QueuedLaunchesThatHaveBecomeSlowAreTriedAgain) {
  tuner().set_mode(TuneMode::on);
  tuner().fill(key("slow queue"), {1, 1e-4, 0});
  LaunchTrials trials(2, "slow queue");
  std::vector<int> ways;
  for (int i = 0; i < 16 * 64 + 8; ++i)
    trials.launch_in_queue(subject, 10, [&](int way, bool) {
      ways.push_back(way);
      return way == 0 ? 1.5e-3 : 5e-3;
    });
  EXPECT_EQ(std::vector<int>(ways.begin(), ways.begin() + 16 * 64), std::vector<int>(16 * 64, 1));
  EXPECT_EQ(std::vector<int>(ways.begin() + 16 * 64, ways.end()), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  const auto records = tuner().take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.begin()->second.way, 0);
}

}  // namespace in_test_tuner
}  // namespace trellis::cpu
