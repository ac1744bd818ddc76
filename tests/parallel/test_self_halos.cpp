// ranks: 1
/// One process plays a rank of many, and its faces go to itself by each way of hosts.
#include "tests/support/self_halos.hpp"

#include "trellis/base/error.hpp"

namespace trellis {
namespace in_test_self_halos {

TEST(SelfHalos, hops_have_the_bits_of_those_that_nobody_cuts) {
  std::vector<ExchangePolicy> policies{ExchangePolicy::persistent};
  if (world()->can_share_memory()) {
    policies.push_back(ExchangePolicy::shared);
    policies.push_back(ExchangePolicy::copied);
  }
  for (const ExchangePolicy policy : policies) test::expect_same_hops(policy, Backend::cpu);
}

/// A direction that two ranks share has one message, and others have two, as between real ranks.
TEST(SelfHalos, messages_are_those_of_ranks) {
  for (const auto& [partition, expected] :
       {std::pair{Coord{1, 2, 2, 2}, 3}, std::pair{Coord{3, 1, 1, 2}, 3}, std::pair{Coord{1, 1, 1, 4}, 2}}) {
    const HoppingTerm hop(test::self_links(test::played_lattice(partition)), WilsonParams{}, {});
    EXPECT_EQ(int(hop.hop_cost(1).messages.size()), expected) << to_string(partition);
  }
}

TEST(SelfHalos, all_ranks_send_what_this_one_sends) {
  PlayedRank played(3);
  EXPECT_EQ(played.size(), 3);
  EXPECT_EQ(played.allgather(7), (std::vector<int>{7, 7, 7}));
  EXPECT_THROW(played.alltoallv(nullptr, {1}), BadArgument);
}

}  // namespace in_test_self_halos
}  // namespace trellis
