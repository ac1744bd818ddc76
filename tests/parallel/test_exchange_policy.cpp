// ranks: 1 2 4 8
/// Shared memory inside a node moves the same bytes as persistent requests, with raw messages, ends in any
/// order, and the Wilson hop on every process grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/without_space.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_exchange_policy {

/// This class sets the policy and puts the old one back.
class WithPolicy {
 public:
  explicit WithPolicy(ExchangePolicy policy) : before_{exchange_policy()} { set_exchange_policy(policy); }
  ~WithPolicy() { set_exchange_policy(before_); }

 private:
  ExchangePolicy before_;
};

/// The owner says whose memory the messages lie in.
enum class Owner { test, exchange };

/// In this exchange every rank sends `count` messages of different lengths to every rank, itself too.
struct Everything {
  explicit Everything(int count, Owner owner = Owner::test) {
    Communicator& comm = *world();
    std::vector<Message> sends, receives;
    for (int peer = 0; peer < comm.size(); ++peer)
      for (int k = 0; k < count; ++k) {
        out.emplace_back(length(comm.rank(), peer, k));
        in.emplace_back(length(peer, comm.rank(), k), -1);
        const bool is_own = owner == Owner::test;
        sends.push_back({peer, k, is_own ? out.back().data() : nullptr, out.back().size() * sizeof(int)});
        receives.push_back({peer, k, is_own ? in.back().data() : nullptr, in.back().size() * sizeof(int)});
      }
    messages = count;
    transport = make_transport(comm, sends, receives);
  }
  static size_t length(int from, int to, int k) { return size_t(1 + (7 * from + 3 * to + 501 * k) % 1000); }
  static int number(int from, int to, int k, int turn, size_t i) {
    return turn + 10 * int(i) + 20011 * (k + 5 * (to + 16 * from));
  }
  /// Sends, receives, and counts what is wrong.
  int run(int turn) {
    int wrong = 0;
    transport->start([&] { write(turn); });
    transport->wait([&] { wrong = count_wrong(turn); });
    return wrong;
  }
  void write(int turn) {
    const int rank = world()->rank(), ranks = world()->size();
    for (int peer = 0; peer < ranks; ++peer)
      for (int k = 0; k < messages; ++k) {
        const size_t length = out[size_t(peer * messages + k)].size();
        int* data = static_cast<int*>(transport->outgoing(peer * messages + k));
        for (size_t i = 0; i < length; ++i) data[i] = number(rank, peer, k, turn, i);
      }
  }
  int count_wrong(int turn) {
    const int rank = world()->rank(), ranks = world()->size();
    int wrong = 0;
    for (int peer = 0; peer < ranks; ++peer)
      for (int k = 0; k < messages; ++k) {
        const size_t length = in[size_t(peer * messages + k)].size();
        const int* data = static_cast<const int*>(transport->incoming(peer * messages + k));
        for (size_t i = 0; i < length; ++i) wrong += data[i] != number(peer, rank, k, turn, i);
      }
    return wrong;
  }
  int messages = 0;
  std::vector<std::vector<int>> out, in;
  TransportPtr transport;
};

constexpr ExchangePolicy policies[] = {ExchangePolicy::persistent, ExchangePolicy::shared,
                                       ExchangePolicy::copied};

TEST(SharedExchange, delivers_every_message_every_time) {
  for (const ExchangePolicy policy : policies)
    for (const Owner owner : {Owner::test, Owner::exchange}) {
      const WithPolicy with(policy);
      Everything a(3, owner), b(1, owner);
      for (int turn = 0; turn < 40; ++turn) {
        EXPECT_EQ(a.run(turn), 0) << name_of(policy);
        if (turn % 3 == 0) {
          EXPECT_EQ(b.run(turn), 0) << name_of(policy);
        }
      }
    }
}

/// Kernels store whole vectors in the memory of the exchange.
TEST(SharedExchange, own_memory_is_aligned) {
  for (const ExchangePolicy policy : policies) {
    const WithPolicy with(policy);
    Everything all(3, Owner::exchange);
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(all.run(turn), 0);
      for (int i = 0; i < 3 * world()->size(); ++i) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(all.transport->outgoing(i)) % 64, 0u) << name_of(policy);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(all.transport->incoming(i)) % 64, 0u) << name_of(policy);
      }
    }
  }
}

/// A sender may be one exchange ahead, not two. Other ranks have no messages at all.
TEST(SharedExchange, one_way_messages_are_not_overrun) {
  Communicator& comm = *world();
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  for (const ExchangePolicy policy : policies)
    for (const Owner owner : {Owner::test, Owner::exchange}) {
      const WithPolicy with(policy);
      constexpr int length = 5000;
      std::vector<double> own(length);
      const Message message{comm.rank() == 0 ? 1 : 0, 5, owner == Owner::test ? own.data() : nullptr,
                            length * sizeof(double)};
      std::vector<Message> sends, receives;
      if (comm.rank() == 0) sends.push_back(message);
      if (comm.rank() == 1) receives.push_back(message);
      const auto transport = make_transport(comm, sends, receives);
      for (int turn = 0; turn < 200; ++turn) {
        transport->start([&] {
          if (comm.rank() == 0)
            std::fill_n(static_cast<double*>(transport->outgoing(0)), length, double(turn));
        });
        transport->wait([] {});
        if (comm.rank() != 1) continue;
        const double* data = static_cast<const double*>(transport->incoming(0));
        EXPECT_EQ(std::count(data, data + length, double(turn)), length) << name_of(policy);
      }
    }
}

TEST(SharedExchange, segments_return_when_all_ranks_have_let_go) {
  const WithPolicy shared(ExchangePolicy::shared);
  std::vector<std::unique_ptr<Everything>> kept;
  for (int turn = 0; turn < 12; ++turn) {
    kept.push_back(std::make_unique<Everything>(1 + turn % 3));
    EXPECT_EQ(kept.back()->run(turn), 0);
    // ranks end their exchanges in different orders
    if (kept.size() > 3) kept.erase(kept.begin() + (world()->rank() + turn) % 3);
    EXPECT_EQ(kept.back()->run(turn + 100), 0);
  }
}

TEST(SharedExchange, messages_that_do_not_match_are_refused) {
  const WithPolicy shared(ExchangePolicy::shared);
  Communicator& comm = *world();
  double x[2] = {}, y[2] = {};
  const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
  EXPECT_THROW(make_transport(comm, {{next, 1, x, 16}}, {{last, 1, y, 8}}), BadArgument);
  EXPECT_THROW(make_transport(comm, {{next, 1, x, 16}}, {{last, 2, y, 16}}), BadArgument);
}

/// One rank gets no memory to share: all ranks know, and exchange by messages unless that is forbidden.
TEST(SharedExchange, goes_by_messages_where_memory_cannot_be_shared) {
  if (communication_library() == "none") GTEST_SKIP() << "a build without MPI copies";
  Communicator& comm = *world();
  const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<double> out(1 << 20, comm.rank()), in(out.size());  // there are fewer segments
  const std::vector<Message> sends{{next, 1, out.data(), 8 * out.size()}},
      receives{{last, 1, in.data(), 8 * in.size()}};
  TransportPtr transport;
  {
    std::unique_ptr<test::WithoutSpace> limit;
    if (comm.rank() == comm.size() - 1) limit = std::make_unique<test::WithoutSpace>();
    const WithPolicy shared(ExchangePolicy::shared);
    try {
      make_transport(comm, sends, receives);
      ADD_FAILURE() << "no error on rank " << comm.rank();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("posix_fallocate: File too large (16"), std::string::npos)
          << error.what();
    }
    set_exchange_policy(ExchangePolicy::automatic);
    transport = make_transport(comm, sends, receives);
  }
  transport->start([] {});
  transport->wait([] {});
  EXPECT_EQ(std::count(in.begin(), in.end(), double(last)), int64_t(in.size()));
}

/// The choice of a way depends on policy and backend.
TEST(Transport, is_chosen_in_one_place) {
  const auto choose = [](ExchangePolicy policy, Backend backend) {
    const WithPolicy with(policy);
    return std::string(name_of(choose_transport(backend)));
  };
  using enum ExchangePolicy;
  EXPECT_EQ(choose(persistent, Backend::cpu), "requests");
  EXPECT_EQ(choose(persistent, Backend::gpu_emulated), "requests");
  EXPECT_EQ(choose(shared, Backend::cpu), "shared");
  EXPECT_EQ(choose(copied, Backend::cpu), "copied");
  const std::string host = choose(automatic, Backend::cpu);
  EXPECT_TRUE(host == "shared" || host == "copied") << host;
  const std::string direct_way = library_takes_device_memory() ? "device" : "";
  EXPECT_EQ(choose(persistent, Backend::cuda), direct_way.empty() ? "staged" : direct_way);
  EXPECT_EQ(choose(automatic, Backend::cuda), direct_way.empty() ? "peer" : direct_way);
  EXPECT_EQ(choose(direct, Backend::cuda), "device");
  for (const ExchangePolicy policy : {staged, mapped, peer, peer_copied, fused})
    EXPECT_EQ(choose(policy, Backend::cuda), name_of(policy));
  for (const ExchangePolicy policy : {staged, mapped, direct, peer, peer_copied, fused})
    EXPECT_EQ(choose(policy, Backend::cpu), host) << "policies of GPUs leave hosts their choice";
  EXPECT_EQ(choose(shared, Backend::cuda), "staged") << "page-locked memory that ranks share";
  EXPECT_EQ(choose(copied, Backend::cuda), "staged");
}

TEST(SharedExchange, names_of_policies) {
  EXPECT_EQ(exchange_policy_by_name("shared"), ExchangePolicy::shared);
  EXPECT_EQ(exchange_policy_by_name("copied"), ExchangePolicy::copied);
  for (const ExchangePolicy policy : exchange_policies)
    EXPECT_EQ(exchange_policy_by_name(name_of(policy)), policy);
  EXPECT_THROW(exchange_policy_by_name("carrier pigeon"), BadArgument);
}

/// Returns (M psi, |M psi|^2) in one storage.
std::pair<std::vector<double>, double> apply(const LatticePtr& lattice, const reference::Gauge& U,
                                             const reference::SpinorVector& psi, Precision precision) {
  WilsonParams params;
  params.csw_spatial = params.csw_temporal = 1.1;
  const WilsonOperator M(test::to_product(lattice, U), params, {precision, 12, Backend::cpu, 4});
  SpinorField in = M.make_field(2), out = M.make_field(2);
  for (int r = 0; r < 2; ++r) test::to_product(in, psi, r);
  M.apply(out, in);
  M.apply_dagger(in, out);
  return {test::canonical_part(in, 1), norm2(in)};
}

TEST(SharedExchange, gives_the_bits_of_persistent_requests) {
  const Coord extents{4, 4, 8, 8};
  const auto U = test::random_gauge(extents, 41);
  const auto psi = test::random_spinors(extents, 42);
  for (const Coord& grid : legal_process_grids(extents, world()->size()))
    for (const Precision precision : {Precision::double_precision, Precision::half_precision}) {
      const LatticePtr lattice = make_lattice(extents, grid);
      set_exchange_policy(ExchangePolicy::persistent);
      const auto expected = apply(lattice, U, psi, precision);
      for (const ExchangePolicy policy : {ExchangePolicy::shared, ExchangePolicy::copied}) {
        const WithPolicy with(policy);
        EXPECT_TRUE(apply(lattice, U, psi, precision) == expected)
            << name_of(policy) << to_string(grid) << name_of(precision);
      }
    }
}

}  // namespace in_test_exchange_policy
}  // namespace trellis
