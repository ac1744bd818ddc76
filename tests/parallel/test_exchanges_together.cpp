// ranks: 2 4 8
// sanitize: 1
// nodes: 2
/// Several exchanges are under way at once, within a node and between nodes: ranks pretend to be on two of
/// them (TRELLIS_NODES), and messages between these are late. What travels within the node ends first, the
/// others move on whichever exchange is waited for, and no bit changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/delayed_exchange.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/comm/transport/node_memory.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_exchanges_together {

int rank() { return world()->rank(); }
int ranks() { return world()->size(); }
int partner_across() { return (rank() + ranks() / 2) % ranks(); }
/// Returns another rank of this node, or this rank where there is none.
int partner_within() { return ranks() == 2 ? rank() : rank() ^ 1; }

/// These numbers go to some ranks and back, with a tag for each.
class Numbers {
 public:
  Numbers(TransportWay way, const std::vector<int>& peers, size_t count) : peers_{peers}, count_{count} {
    std::vector<Message> messages;
    for (size_t i = 0; i < peers.size(); ++i) messages.push_back({peers[i], 0, nullptr, count * sizeof(int)});
    transport_ = way == TransportWay::requests ? make_requests_transport(*world(), messages, messages)
                 : way == TransportWay::shared ? make_shared_transport(*world(), messages, messages)
                                               : make_copied_transport(*world(), messages, messages);
  }
  void start(int turn) {
    turn_ = turn;
    transport_->start([&] {
      for (size_t i = 0; i < peers_.size(); ++i) {
        int* data = static_cast<int*>(transport_->outgoing(int(i)));
        for (size_t k = 0; k < count_; ++k) data[k] = number(rank(), peers_[i], k);
      }
    });
  }
  bool has_arrived(int i) { return transport_->has_arrived(i); }
  /// Returns the order in which messages came; numbers that were not sent are failures.
  std::vector<int> wait() {
    std::vector<int> order;
    transport_->wait_each([&](int i) {
      order.push_back(i);
      const int* data = static_cast<const int*>(transport_->incoming(i));
      int wrong = 0;
      for (size_t k = 0; k < count_; ++k) wrong += data[k] != number(peers_[size_t(i)], rank(), k);
      EXPECT_EQ(wrong, 0) << "message " << i << ", turn " << turn_;
    });
    return order;
  }

 private:
  int number(int from, int to, size_t k) const { return turn_ + 7 * from + 77 * to + 1001 * int(k); }
  std::vector<int> peers_;
  size_t count_;
  TransportPtr transport_;
  int turn_ = 0;
};

class ExchangesTogether : public ::testing::Test {
 protected:
  void SetUp() override {
    if (communication_library() == "none") GTEST_SKIP() << "a build without MPI has no nodes";
  }
  void TearDown() override {
    set_message_delay(0);
    set_exchange_policy(ExchangePolicy::automatic);
    set_thread_count(1);
  }
};

constexpr double millisecond = 1e-3, long_delay = 0.2;

TEST_F(ExchangesTogether, RanksPretendToBeOnTwoNodes) {
  for (int other = 0; other < ranks(); ++other) {
    const bool is_near = other / (ranks() / 2) == rank() / (ranks() / 2);
    EXPECT_EQ(world()->nodes()[size_t(other)], other / (ranks() / 2) * (ranks() / 2));
    EXPECT_EQ(world()->node_memory().node_rank(other) >= 0, is_near) << other;
  }
  EXPECT_EQ(world()->node()->size(), ranks() / 2);
}

/// There are two exchanges, of which the one between nodes is started first.
TEST_F(ExchangesTogether, TheOneWithinANodeEndsFirst) {
  for (const TransportWay way : {TransportWay::shared, TransportWay::copied}) {
    set_message_delay(long_delay);
    Numbers across(TransportWay::requests, {partner_across()}, 5000);
    Numbers within(way, {partner_within()}, 5000);
    for (int turn = 0; turn < 3; ++turn) {
      world()->barrier();
      across.start(turn);
      within.start(turn + 100);
      within.wait();
      EXPECT_FALSE(across.has_arrived(0)) << name_of(way);
      across.wait();
      EXPECT_TRUE(across.has_arrived(0));
    }
  }
}

/// The same holds with a delay of a millisecond, in most turns, since a core that ranks share may come late.
TEST_F(ExchangesTogether, AMillisecondIsEnough) {
  set_message_delay(millisecond);
  Numbers across(TransportWay::requests, {partner_across()}, 500);
  Numbers within(TransportWay::shared, {partner_within()}, 500);
  constexpr int turns = 200;
  int first = 0;
  for (int turn = 0; turn < turns; ++turn) {
    across.start(turn);
    within.start(turn + 1000);
    within.wait();
    first += across.has_arrived(0) ? 0 : 1;
    across.wait();
  }
  if (ranks() == 2) {
    EXPECT_GT(first, turns / 2);  // it goes to itself
  }
  EXPECT_GT(world()->maximum(first), 0.0);
}

/// Messages of one exchange are unpacked as they come.
TEST_F(ExchangesTogether, NearMessagesOfAnExchangeComeFirst) {
  for (const TransportWay way : {TransportWay::shared, TransportWay::copied}) {
    set_message_delay(long_delay);
    Numbers both(way, {partner_across(), partner_within()}, 3000);
    for (int turn = 0; turn < 2; ++turn) {
      world()->barrier();
      both.start(turn);
      EXPECT_EQ(both.wait(), (std::vector<int>{1, 0})) << name_of(way);
    }
    set_message_delay(millisecond);
    Numbers soon(way, {partner_across(), partner_within()}, 3000);
    for (int turn = 0; turn < 50; ++turn) {
      soon.start(turn);
      EXPECT_EQ(soon.wait().size(), 2u);
    }
  }
}

/// One rank waits in shared memory for another that waits for its message, which is too long to leave at
/// once. Without looking after it, both would wait for ever.
TEST_F(ExchangesTogether, MessagesMoveWhileAnotherExchangeIsWaitedFor) {
  if (ranks() == 2) GTEST_SKIP() << "a node has one rank";
  for (const TransportWay way : {TransportWay::shared, TransportWay::copied}) {
    Numbers large(TransportWay::requests, {partner_within()}, size_t(1) << 20);
    Numbers small(way, {partner_within()}, 100);
    const auto run_small = [&](int turn) {
      for (int i = 0; i < 4; ++i) {
        small.start(10 * turn + i);
        small.wait();
      }
    };
    for (int turn = 0; turn < 3; ++turn) {
      large.start(turn);
      if (rank() % 2 == 0) run_small(turn);
      large.wait();
      if (rank() % 2 == 1) run_small(turn);
    }
  }
}

TEST_F(ExchangesTogether, ManyAreUnderWayAndEndInAnyOrder) {
  for (const double delay : {0.0, millisecond}) {
    set_message_delay(delay);
    const std::vector<int> peers{partner_across(), partner_within()};
    std::vector<std::unique_ptr<Numbers>> all;
    for (const TransportWay way : {TransportWay::requests, TransportWay::shared, TransportWay::copied})
      for (const size_t count : {size_t(1), size_t(3000), size_t(100000)})
        all.push_back(std::make_unique<Numbers>(way, peers, count));
    const int n = int(all.size());
    for (int turn = 0; turn < 10; ++turn) {
      for (int i = 0; i < n; ++i) all[size_t(i)]->start(turn + 50 * i);
      // There are 9 exchanges, and 2, 4 and 5 have no divisor of it: each order has all of them.
      const int stride = std::array{2, 4, 5}[size_t(rank() % 3)];
      for (int i = 0; i < n; ++i) EXPECT_EQ(all[size_t((turn + rank() + stride * i) % n)]->wait().size(), 2u);
    }
  }
}

/// Asking alone makes messages arrive; a message that is there stays there.
TEST_F(ExchangesTogether, EachMessageCanBeAskedFor) {
  for (const double delay : {0.0, millisecond})
    for (const TransportWay way : {TransportWay::requests, TransportWay::shared, TransportWay::copied}) {
      set_message_delay(delay);
      Numbers numbers(way, {partner_across(), partner_within()}, 200000);
      for (int turn = 0; turn < 3; ++turn) {
        numbers.start(turn);
        for (int is_there = 0; is_there < 2;) {
          is_there = 0;
          for (const int i : {0, 1}) is_there += numbers.has_arrived(i) ? 1 : 0;
        }
        EXPECT_TRUE(numbers.has_arrived(0) && numbers.has_arrived(1));
        numbers.wait();
      }
    }
}

/// The second thread copies what is long enough within the node, while the first one makes MPI's calls.
TEST_F(ExchangesTogether, ASecondThreadCopiesWithinTheNode) {
  set_thread_count(2);
  for (const double delay : {0.0, millisecond}) {
    set_message_delay(delay);
    Numbers numbers(TransportWay::copied, {partner_across(), partner_within()}, 300000);
    Numbers others(TransportWay::copied, {partner_within(), partner_across()}, 200000);
    for (int turn = 0; turn < 8; ++turn) {
      numbers.start(turn);
      others.start(turn + 1);
      if (rank() % 2 == 0) numbers.wait();
      others.wait();
      if (rank() % 2 == 1) numbers.wait();
    }
  }
}

TEST_F(ExchangesTogether, NegativeDelaysAreRefused) { EXPECT_THROW(set_message_delay(-1.0), BadArgument); }

/// Hops go on every process grid, in each way of a halo.
class HopsAcrossNodes : public ExchangesTogether {
 protected:
  template <class F>
  void expect_same_bits(const Coord& extents, int least_local, const F& apply) {
    set_exchange_policy(ExchangePolicy::persistent);
    for (const Coord& grid : legal_process_grids(extents, ranks(), least_local)) {
      set_message_delay(0);
      const auto expected = apply(make_lattice(extents, grid));
      set_message_delay(millisecond);
      for (const ExchangePolicy policy :
           {ExchangePolicy::persistent, ExchangePolicy::shared, ExchangePolicy::copied}) {
        set_exchange_policy(policy);
        EXPECT_TRUE(apply(make_lattice(extents, grid)) == expected) << name_of(policy) << to_string(grid);
      }
      set_exchange_policy(ExchangePolicy::persistent);
    }
  }
};

TEST_F(HopsAcrossNodes, WilsonHasTheSameBits) {
  const Coord extents{4, 4, 8, 8};
  const auto U = test::random_gauge(extents, 41);
  const auto psi = test::random_spinors(extents, 42);
  for (const Precision precision : {Precision::double_precision, Precision::half_precision})
    expect_same_bits(extents, 2, [&](const LatticePtr& lattice) {
      WilsonParams params;
      params.csw_spatial = params.csw_temporal = 1.1;
      const WilsonOperator M(test::to_product(lattice, U), params, {precision, 12, Backend::cpu, 4});
      SpinorField in = M.make_field(2), out = M.make_field(2);
      for (int r = 0; r < 2; ++r) test::to_product(in, psi, r);
      M.apply(out, in);
      M.apply_dagger(in, out);
      return std::pair(test::canonical_part(in, 1), norm2(in));
    });
}

/// Faces of hops over one and three sites travel together.
TEST_F(HopsAcrossNodes, ImprovedStaggeredHasTheSameBits) {
  const Coord extents{8, 8, 8, 16};
  const auto U = test::random_gauge(extents, 43);
  expect_same_bits(extents, 4, [&](const LatticePtr& lattice) {
    const GaugeField links = test::to_product(lattice, U);
    const auto improved = std::make_shared<StaggeredLinks>(links, links, -1.0 / 24, true, KernelChoice{});
    const StaggeredOperator M(
        std::make_shared<StaggeredMatrix>(improved, StaggeredPhases{}, 0.1, Precision::double_precision));
    SpinorField in = M.make_field(), out = M.make_field();
    const double reals[] = {1, -2, 3, 0.5, 0.25, -1};
    if (rank() == 0) in.set_site({0, 0, 0}, 0, reals);
    for (int i = 0; i < 2; ++i) {
      M.apply(out, in);
      M.apply_dagger(in, out);
    }
    return norm2(in);
  });
}

}  // namespace in_test_exchanges_together
}  // namespace trellis
