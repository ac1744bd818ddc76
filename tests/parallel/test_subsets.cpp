// ranks: 1 2 4 8
/// Communicators have some of the ranks, and messages of any length go from all ranks to all.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"

namespace trellis {
namespace in_test_subsets {

/// Calls f for every set of ranks but the empty one, in ascending or descending order.
template <class F>
void for_each_subset(int ranks, const F& f) {
  for (unsigned members = 1; members < 1u << ranks; ++members) {
    std::vector<int> list;
    for (int rank = 0; rank < ranks; ++rank)
      if ((members >> rank & 1) != 0) list.push_back(rank);
    if (members % 3 == 0) std::reverse(list.begin(), list.end());
    f(list);
  }
}

TEST(Subset, has_its_ranks_in_order_and_works_by_itself) {
  Communicator& all = *world();
  for_each_subset(all.size(), [&](const std::vector<int>& ranks) {
    const CommunicatorPtr part = all.subset(ranks);
    const auto place = std::find(ranks.begin(), ranks.end(), all.rank());
    ASSERT_EQ(part != nullptr, place != ranks.end());
    if (!part) return;
    ASSERT_EQ(part->size(), int(ranks.size()));
    EXPECT_EQ(part->rank(), int(place - ranks.begin()));
    double total = 0;
    for (int i = 0; i < part->size(); ++i) {
      EXPECT_EQ(part->world_rank(i), ranks[size_t(i)]);
      const int node = part->nodes()[size_t(i)];
      EXPECT_EQ(all.nodes()[size_t(ranks[size_t(node)])], all.nodes()[size_t(ranks[size_t(i)])]);
      EXPECT_LE(node, i);
      total += ranks[size_t(i)] + 1;
    }
    ExactSum sum;
    sum.add(all.rank() + 1);
    part->sum(&sum, 1);
    EXPECT_EQ(sum.value(), total);
    EXPECT_EQ(part->maximum(all.rank()), *std::max_element(ranks.begin(), ranks.end()));
    int root = all.rank();
    part->broadcast(&root, sizeof(root), part->size() - 1);
    EXPECT_EQ(root, ranks.back());
    EXPECT_EQ(part->allgather(all.rank()), ranks);
  });
}

TEST(Subset, is_the_same_each_time_and_has_subsets) {
  Communicator& all = *world();
  std::vector<int> ranks(size_t(all.size()));
  std::iota(ranks.rbegin(), ranks.rend(), 0);
  const CommunicatorPtr reversed = all.subset(ranks);
  EXPECT_EQ(all.subset(ranks), reversed);
  const CommunicatorPtr last = reversed->subset({0});
  ASSERT_EQ(last != nullptr, all.rank() == all.size() - 1);
  if (!last) return;
  EXPECT_EQ(last->size(), 1);
  EXPECT_EQ(last->world_rank(0), all.size() - 1);
  EXPECT_EQ(last->nodes(), std::vector<int>{0});
}

/// Returns the refusal of f(), which is the same sentence on all ranks.
template <class F>
std::string refusal(const F& f) {
  std::string text = "nothing was refused";
  try {
    f();
  } catch (const BadArgument& error) {
    text = error.what();
  }
  std::string first = text;
  first.resize(200);
  world()->broadcast(first.data(), first.size(), 0);
  EXPECT_EQ(text, first.c_str()) << "on rank " << world()->rank();
  return text;
}

TEST(Subset, of_other_ranks_is_refused_on_all_ranks) {
  Communicator& all = *world();
  const int size = all.size();
  const std::string refused = message("a subset of ", size, " ranks ");
  const auto subset = [&](const std::vector<int>& ranks) { return refusal([&] { all.subset(ranks); }); };
  EXPECT_EQ(subset({}).find(refused + "has at least one rank, found none"), 0u);
  EXPECT_EQ(subset({0, size}).find(message(refused, "names ranks from 0 to ", size - 1, ", found ", size)),
            0u);
  EXPECT_EQ(subset({-1}).find(message(refused, "names ranks from 0 to ", size - 1, ", found -1")), 0u);
  EXPECT_EQ(subset({0, 0}).find(refused + "names each rank once, found rank 0 twice"), 0u);
  if (size == 1) return;
  const bool is_last = all.rank() == size - 1;
  const std::string one = subset(is_last ? std::vector<int>{size} : std::vector<int>{0});
  EXPECT_NE(one.find(message("found ", size, " (seen on rank ", size - 1, ")")), std::string::npos) << one;
  const std::string other = subset(is_last ? std::vector<int>{1, 0} : std::vector<int>{0, 1});
  EXPECT_EQ(other.find("a subset is the same list on all ranks, found another list than on rank 0"), 0u);
  EXPECT_NO_THROW(all.subset({0})) << "after a refusal";
}

/// A member fails: the ranks of the subset end together, and nobody else takes part.
TEST(Subset, agrees_on_errors_of_a_member) {
  Communicator& all = *world();
  std::vector<int> ranks;
  for (int rank = all.size() - 1; rank >= 0; rank -= 2) ranks.push_back(rank);
  const CommunicatorPtr part = all.subset(ranks);
  bool has_thrown = false;
  if (part) {
    try {
      part->agree_on_error(all.rank() == ranks.back() ? "the checksum is wrong" : "");
    } catch (const FileError& error) {
      has_thrown = true;
      const bool is_alone = ranks.back() == 0 && ranks.size() == 1;
      EXPECT_EQ(error.what(), is_alone ? std::string("the checksum is wrong")
                                       : message("the checksum is wrong (seen on rank ", ranks.back(), ")"));
    }
  }
  EXPECT_EQ(has_thrown, part != nullptr);
  EXPECT_TRUE(all.any(all.rank() == 0)) << "all ranks go on";
}

/// A ring of halos runs within a subset by every policy, while another goes round all ranks.
TEST(Subset, has_halos_of_its_own) {
  Communicator& all = *world();
  std::vector<int> ranks;
  for (int rank = 0; rank < all.size(); rank += 2) ranks.push_back(rank);
  const CommunicatorPtr part = all.subset(ranks);
  const ExchangePolicy before = exchange_policy();
  const auto ring = [](Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
    return make_transport(comm, {{next, 3, nullptr, sizeof(int)}}, {{last, 3, nullptr, sizeof(int)}});
  };
  const auto run = [](HaloTransport& transport, int value) {
    transport.start([&] { *static_cast<int*>(transport.outgoing(0)) = value; });
    int received = -1;
    transport.wait([&] { received = *static_cast<int*>(transport.incoming(0)); });
    return received;
  };
  for (const ExchangePolicy policy :
       {ExchangePolicy::persistent, ExchangePolicy::shared, ExchangePolicy::copied}) {
    set_exchange_policy(policy);
    const TransportPtr outer = ring(all), inner = part ? ring(*part) : nullptr;
    for (int turn = 0; turn < 5; ++turn) {
      const int outer_last = (all.rank() + all.size() - 1) % all.size();
      EXPECT_EQ(run(*outer, 100 * turn + all.rank()), 100 * turn + outer_last) << name_of(policy);
      if (!part) continue;
      const int last = part->world_rank((part->rank() + part->size() - 1) % part->size());
      EXPECT_EQ(run(*inner, 100 * turn + all.rank()), 100 * turn + last) << name_of(policy);
    }
  }
  set_exchange_policy(before);
}

/// Rank i sends 7 i + 3 j (mod 5) bytes to rank j.
TEST(Alltoallv, delivers_parts_of_any_length) {
  Communicator& all = *world();
  const auto length = [](int from, int to) { return size_t((7 * from + 3 * to) % 5); };
  const auto value = [](int from, int to, size_t i) { return std::byte(61 * from + 17 * to + int(i)); };
  std::vector<std::byte> data;
  std::vector<size_t> bytes;
  for (int to = 0; to < all.size(); ++to) {
    bytes.push_back(length(all.rank(), to));
    for (size_t i = 0; i < bytes.back(); ++i) data.push_back(value(all.rank(), to, i));
  }
  for (int turn = 0; turn < 3; ++turn) {
    const Parts parts = all.alltoallv(data.data(), bytes);
    ASSERT_EQ(int(parts.bytes.size()), all.size());
    size_t at = 0;
    for (int from = 0; from < all.size(); ++from) {
      ASSERT_EQ(parts.bytes[size_t(from)], length(from, all.rank()));
      for (size_t i = 0; i < parts.bytes[size_t(from)]; ++i)
        EXPECT_EQ(parts.data[at++], value(from, all.rank(), i));
    }
    EXPECT_EQ(at, parts.data.size());
  }
}

TEST(Alltoallv, refuses_another_number_of_parts_on_all_ranks) {
  Communicator& all = *world();
  const bool is_last = all.rank() == all.size() - 1;
  const std::vector<size_t> bytes(size_t(all.size() + (is_last ? 1 : 0)), 0);
  EXPECT_EQ(refusal([&] { all.alltoallv(nullptr, bytes); }),
            message("alltoallv takes a number of bytes for each of ", all.size(), " ranks, found ",
                    all.size() + 1, " of them on rank ", all.size() - 1));
}

}  // namespace in_test_subsets
}  // namespace trellis
