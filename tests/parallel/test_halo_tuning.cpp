// ranks: 1 2 4 8
/// The tuner chooses how halos travel: all ranks take one way, which its rank 0 reads or finds, and none of
/// the ways changes a bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/without_space.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/common_choice.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_halo_tuning {

/// Every rank sends a message to the next one. Each test has halos of its own: the tuner forgets nothing.
class TunedHalos : public ::testing::Test {
 protected:
  void SetUp() override {
    if (communication_library() == "none") GTEST_SKIP() << "a build without MPI copies";
    if (world()->size() == 1) GTEST_SKIP() << "one rank has no halo that travels";
  }
  void TearDown() override {
    tuner().set_mode(TuneMode::read);
    tuner().take_records();
    set_exchange_policy(ExchangePolicy::automatic);
  }

  static bool is_first() { return comm().rank() == 0; }
  static Communicator& comm() { return *world(); }
  static TransportWay rule() { return choose_transport(Backend::cpu); }
  static const Geometry& geometry() {
    static const LatticePtr lattice = make_lattice({4, 4, 4, 16}, {1, 1, 1, world()->size()});
    return lattice->geometry();
  }
  HaloSubject subject(int columns) const { return {Backend::cpu, &geometry(), columns, sizeof(int)}; }
  Messages sends() const { return {{(comm().rank() + 1) % comm().size(), 1, nullptr, bytes_}}; }
  Messages receives() const {
    return {{(comm().rank() + comm().size() - 1) % comm().size(), 1, nullptr, bytes_}};
  }
  TuneKey key(int columns) const { return halo_key(comm(), sends(), subject(columns)); }

  /// Returns the way of a halo with so many columns, which has to move the right numbers; all ranks have the
  /// same.
  TransportWay way_of(int columns) const {
    const TransportPtr transport = make_transport(comm(), sends(), receives(), subject(columns));
    const int last = receives().front().peer, numbers = int(bytes_ / sizeof(int));
    for (int turn = 0; turn < 3; ++turn) {
      transport->start([&] {
        std::fill_n(static_cast<int*>(transport->outgoing(0)), numbers, turn + 10 * comm().rank());
      });
      transport->wait([&] {
        const int* data = static_cast<const int*>(transport->incoming(0));
        EXPECT_EQ(std::count(data, data + numbers, turn + 10 * last), numbers);
      });
    }
    const double way = double(transport->way());
    EXPECT_EQ(comm().maximum(way), comm().minimum(way));
    return transport->way();
  }

  size_t bytes_ = 4000;
};

TEST_F(TunedHalos, WithoutACacheTheRuleHolds) {
  for (const TuneMode mode : {TuneMode::off, TuneMode::read}) {
    tuner().set_mode(mode);
    EXPECT_EQ(way_of(1), rule());
    EXPECT_TRUE(tuner().take_records().empty());
  }
}

TEST_F(TunedHalos, TheCacheOfTheFirstRankHoldsForAll) {
  int columns = 10;
  for (const TransportWay way : {TransportWay::requests, TransportWay::shared, TransportWay::copied}) {
    tuner().fill(key(++columns), {is_first() ? int(way) : 1 - int(way), 1.0, 0});
    EXPECT_EQ(way_of(columns), way);
    tuner().set_mode(is_first() ? TuneMode::off : TuneMode::on);
    EXPECT_EQ(way_of(columns), rule());
    tuner().set_mode(TuneMode::read);
  }
}

TEST_F(TunedHalos, ForeignWaysArePassedOver) {
  int columns = 20;
  for (const int way : {3, 4, 5, 1 << 30}) {  // these are staged, device, and what there is not
    tuner().fill(key(++columns), {way, 1.0, 0});
    EXPECT_EQ(way_of(columns), rule());
  }
}

TEST_F(TunedHalos, WhatTheUserSaysComesFirst) {
  tuner().fill(key(30), {int(TransportWay::shared), 1.0, 0});
  set_exchange_policy(ExchangePolicy::persistent);
  EXPECT_EQ(way_of(30), TransportWay::requests);
  set_exchange_policy(ExchangePolicy::copied);
  EXPECT_EQ(way_of(30), TransportWay::copied);
}

TEST_F(TunedHalos, OnTriesAndTheFirstRankRecords) {
  tuner().set_mode(is_first() ? TuneMode::on : TuneMode::off);
  const TransportWay way = way_of(40);
  auto records = tuner().take_records();
  ASSERT_EQ(records.size(), is_first() ? 1u : 0u);
  if (is_first()) {
    EXPECT_EQ(records.begin()->first, key(40));
    EXPECT_EQ(records.begin()->second.way, int(way));
    EXPECT_GT(records.begin()->second.seconds, 0);
    EXPECT_EQ(records.begin()->second.repeats, 0);
  }
  EXPECT_EQ(way_of(40), way);
  EXPECT_TRUE(tuner().take_records().empty()) << "known by then";
}

TEST_F(TunedHalos, OnTriesAgainWhatHasBecomeSlow) {
  tuner().set_mode(TuneMode::on);
  tuner().fill(key(50), {int(TransportWay::requests), 1e-12, 0});
  tuner().fill(key(51), {int(TransportWay::requests), 1e3, 0});
  const TransportWay way = way_of(50);
  const auto records = tuner().take_records();
  ASSERT_EQ(records.size(), is_first() ? 1u : 0u);
  if (is_first()) {
    EXPECT_EQ(records.begin()->second.way, int(way));
    EXPECT_EQ(records.begin()->second.repeats, 1);
  }
  EXPECT_EQ(way_of(50), way) << "one look in a process";
  EXPECT_EQ(way_of(51), TransportWay::requests) << "faster than its record";
  EXPECT_TRUE(tuner().take_records().empty());
}

/// Processors of nodes may differ, and with them what each rank would take by itself.
TEST_F(TunedHalos, RanksWithOtherDefaultsTakeTheWayOfTheFirst) {
  const RankAgreement ranks{is_first(), [](void* data, size_t bytes) { comm().broadcast(data, bytes, 0); },
                            [](double value) { return comm().maximum(value); }};
  for (const TuneMode mode : {TuneMode::off, TuneMode::read, TuneMode::on}) {
    tuner().set_mode(mode);
    TuneKey key;
    key.kernel = message("in mode ", name_of(mode));
    std::vector<int> tried;
    const std::vector<int> ways = is_first() ? std::vector<int>{5, 6, 7} : std::vector<int>{7, 5};
    const int way = choose_together(key, ways, ranks, [&](int attempted) {
      tried.push_back(attempted);
      return [] { comm().barrier(); };
    });
    EXPECT_EQ(comm().maximum(double(way)), comm().minimum(double(way)));
    if (mode == TuneMode::on)
      EXPECT_EQ(tried, (std::vector<int>{5, 6, 7}));
    else
      EXPECT_EQ(way, 5);
  }
}

/// One rank gets no memory to share: the cached way and the trials of all ranks go by messages.
TEST_F(TunedHalos, AWayThatARankCannotHaveIsNone) {
  bytes_ = size_t(1) << 20;  // there are fewer segments
  tuner().fill(key(60), {int(TransportWay::shared), 1.0, 0});
  std::optional<test::WithoutSpace> limit;
  if (comm().rank() == comm().size() - 1) limit.emplace();
  EXPECT_EQ(way_of(60), TransportWay::requests);
  tuner().set_mode(TuneMode::on);
  EXPECT_EQ(way_of(61), TransportWay::requests);
}

/// Returns (M psi, |M psi|^2).
std::pair<std::vector<double>, double> apply(const Coord& grid, const reference::Gauge& U,
                                             const reference::SpinorVector& psi) {
  WilsonParams params;
  params.csw_spatial = params.csw_temporal = 1.1;
  const LatticePtr lattice = make_lattice(U.extents, grid);  // it is new: fields of a lattice share halos
  const WilsonOperator M(test::to_product(lattice, U), params,
                         {Precision::half_precision, 12, Backend::cpu, 4});
  SpinorField in = M.make_field(2), out = M.make_field(2);
  for (int r = 0; r < 2; ++r) test::to_product(in, psi, r);
  M.apply(out, in);
  return {test::canonical_part(out, 1), norm2(out)};
}

TEST_F(TunedHalos, BitsAreEqualTunedUntunedAndWithAForeignCache) {
  const Coord extents{4, 4, 8, 8};
  const auto U = test::random_gauge(extents, 41);
  const auto psi = test::random_spinors(extents, 42);
  for (const Coord& grid : legal_process_grids(extents, comm().size())) {
    tuner().set_mode(TuneMode::off);
    const auto expected = apply(grid, U, psi);
    tuner().set_mode(TuneMode::on);
    EXPECT_TRUE(apply(grid, U, psi) == expected) << to_string(grid);
    auto records = tuner().take_records();
    EXPECT_EQ(std::count_if(records.begin(), records.end(),
                            [](const auto& record) { return record.first.kernel.starts_with("halo"); }),
              is_first() ? 2 : 0)
        << "the gauge field's and the hop's";
    tuner().set_mode(TuneMode::read);
    for (int way = 0; way < 4; ++way) {
      for (auto& [of_halo, choice] : records) {
        choice = {way, choice.seconds, choice.repeats + 1};
        tuner().fill(of_halo, choice);
      }
      EXPECT_TRUE(apply(grid, U, psi) == expected) << to_string(grid) << way;
    }
  }
}

}  // namespace in_test_halo_tuning
}  // namespace trellis
