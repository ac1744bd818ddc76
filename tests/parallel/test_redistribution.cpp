// ranks: 1 2 4 8
/// Site data that moves to fewer ranks and back is right on the way and the same at the end, and no memory is
/// asked for once it is set up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/support/allocation_count.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/redistribution.hpp"
#include "trellis/comm/transport/choice.hpp"

namespace trellis {
namespace in_test_redistribution {

std::byte value(int64_t site, size_t byte, int turn) {
  uint64_t h = uint64_t(site) * 0x9e3779b97f4a7c15u + byte * 0xff51afd7ed558ccdu + uint64_t(turn) * 40503;
  h ^= h >> 29;
  return std::byte(h * 0xbf58476d1ce4e5b9u >> 56);
}

/// Returns the data of a box: a function of each site's place in the whole lattice.
std::vector<std::byte> data_of(const SiteBox& box, const Coord& lattice, size_t bytes, int turn) {
  std::vector<std::byte> data;
  if (box.sites() == 0) return data;
  for_each_row(box, [&](Coord x) {
    for (int i = 0; i < box.extents[0]; ++i, ++x[0])
      for (size_t k = 0; k < bytes; ++k) data.push_back(value(site_index(x, lattice), k, turn));
  });
  return data;
}

/// Returns grids of so many processes that divide the lattice, at most four, spread over all of them.
std::vector<Coord> some_grids(const Coord& lattice, int ranks) {
  std::vector<Coord> grids;
  Coord g;
  for (g[0] = 1; g[0] <= ranks; ++g[0])
    for (g[1] = 1; g[1] <= ranks; ++g[1])
      for (g[2] = 1; g[2] <= ranks; ++g[2])
        for (g[3] = 1; g[3] <= ranks; ++g[3]) {
          bool fits = product(g) == ranks;
          for (int mu = 0; mu < Nd; ++mu) fits = fits && lattice[mu] % g[mu] == 0;
          if (fits) grids.push_back(g);
        }
  std::vector<Coord> some;
  for (size_t i = 0; i < grids.size(); i += std::max<size_t>(1, grids.size() / 4)) some.push_back(grids[i]);
  return some;
}

/// Chooses few ranks out of all: it takes the first, or every so many in descending order.
std::vector<int> choose(int few, int all, bool descends) {
  std::vector<int> ranks;
  for (int i = 0; i < few; ++i) ranks.push_back(descends ? all - 1 - i * (all / few) : i);
  return ranks;
}

void check_round_trips(const Redistribution::Cut& cut, size_t bytes) {
  Communicator& all = *world();
  Redistribution redistribution(all, cut, bytes);
  EXPECT_EQ(redistribution.few() != nullptr, redistribution.box_among_few().sites() > 0);
  for (int turn = 0; turn < 3; ++turn) {
    const auto start = data_of(redistribution.box_among_all(), cut.lattice, bytes, turn);
    const auto expected = data_of(redistribution.box_among_few(), cut.lattice, bytes, turn);
    std::vector<std::byte> end(start.size()), few(expected.size());
    const int before = test::allocations();
    redistribution.to_few(few.data(), start.data());
    redistribution.to_all(end.data(), few.data());
    EXPECT_EQ(test::allocations(), before);
    EXPECT_TRUE(few == expected) << to_string(cut.all.extents()) << " to " << to_string(cut.few.extents());
    EXPECT_TRUE(end == start) << to_string(cut.all.extents()) << " to " << to_string(cut.few.extents());
  }
}

TEST(Redistribution, to_fewer_ranks_and_back_is_the_identity) {
  const int ranks = world()->size();
  const ExchangePolicy policies[] = {ExchangePolicy::automatic, ExchangePolicy::persistent,
                                     ExchangePolicy::shared, ExchangePolicy::copied};
  int number = 0;
  for (const Coord& lattice : {Coord{4, 4, 2, 8}, Coord{6, 1, 4, 12}})  // local extents are odd, 1 included
    for (const int few : {1, 2, 4, 8})
      for (const Coord& all_grid : some_grids(lattice, ranks))
        for (const Coord& few_grid : few > ranks ? std::vector<Coord>{} : some_grids(lattice, few)) {
          const size_t bytes[] = {1, 3, 8, 17, 64, 100};
          set_exchange_policy(policies[number % 4]);
          check_round_trips(
              {lattice, ProcessGrid(all_grid), choose(few, ranks, number % 2 == 1), ProcessGrid(few_grid)},
              bytes[number % 6]);
          ++number;
        }
  EXPECT_GE(number, ranks == 1 ? 2 : 8);
  set_exchange_policy(ExchangePolicy::automatic);
}

TEST(Redistribution, follows_the_places_of_ranks_on_both_grids) {
  const int ranks = world()->size();
  if (ranks < 4) GTEST_SKIP() << "needs four ranks";
  std::vector<int> reversed(size_t(ranks), 0);
  for (int i = 0; i < ranks; ++i) reversed[size_t(i)] = ranks - 1 - i;
  check_round_trips(
      {{4, 4, 4, 8}, ProcessGrid({1, 1, 1, ranks}, reversed), {1, 3}, ProcessGrid({2, 1, 1, 1}, {1, 0})}, 24);
}

/// A field comes in another order: sites lie backwards, and the bytes of a site, too.
TEST(Redistribution, packs_fields_in_any_order) {
  const int ranks = world()->size();
  const Coord lattice{4, 2, 2, 8};
  const size_t bytes = 5;
  Redistribution redistribution(*world(),
                                {lattice, ProcessGrid({1, 1, 1, ranks}), {ranks - 1}, ProcessGrid()}, bytes);
  const auto pack = [&](const SiteBox& box, void* message) {
    auto data = data_of(box, lattice, bytes, 4);
    std::reverse(data.begin(), data.end());
    std::copy(data.begin(), data.end(), static_cast<std::byte*>(message));
  };
  int64_t sites = 0;
  const auto unpack = [&](const SiteBox& box, const void* message) {
    auto data = data_of(box, lattice, bytes, 4);
    EXPECT_TRUE(std::equal(data.rbegin(), data.rend(), static_cast<const std::byte*>(message)));
    sites += box.sites();
  };
  redistribution.to_few(pack, unpack);
  EXPECT_EQ(sites, redistribution.box_among_few().sites());
  sites = 0;
  redistribution.to_all(pack, unpack);
  EXPECT_EQ(sites, redistribution.box_among_all().sites());
}

/// Returns the refusal, which is one sentence on all ranks.
std::string refusal(const Redistribution::Cut& cut, size_t bytes = 8) {
  std::string text = "nothing was refused";
  try {
    const Redistribution redistribution(*world(), cut, bytes);
  } catch (const BadArgument& error) {
    text = error.what();
  }
  std::string first = text;
  first.resize(300);
  world()->broadcast(first.data(), first.size(), 0);
  EXPECT_EQ(text, first.c_str()) << "on rank " << world()->rank();
  return text;
}

TEST(Redistribution, refuses_on_all_ranks_what_does_not_fit) {
  const int ranks = world()->size(), rank = world()->rank();
  const Coord lattice{4, 4, 4, 8};
  const ProcessGrid all({1, 1, 1, ranks}), one;
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(refusal({lattice, all, {ranks}, one}), message("found ", ranks));
  says(refusal({lattice, all, {0, 0}, ProcessGrid({2, 1, 1, 1})}), "found rank 0 twice");
  says(refusal({lattice, all, {}, one}), "found none");
  says(refusal({lattice, ProcessGrid({3, 1, 1, 1}), {0}, one}),
       message("the process grid 3x1x1x1 has 3 processes, expected ", ranks, " for all ranks"));
  says(refusal({lattice, all, {0}, ProcessGrid({1, 2, 1, 1})}),
       "the process grid 1x2x1x1 has 2 processes, expected 1 for the few ranks");
  says(refusal({lattice, all, {0}, one}, 0), "at least one byte a site, found none");
  says(refusal({{4, 4, 4, 0}, all, {0}, one}), "cannot be cut");
  if (ranks == 1) return;
  says(refusal({{4, 4, 4, 9}, all, {0}, one}),
       message("its extent 9 in direction t is no multiple of ", ranks));
  says(refusal({lattice, all, {0}, one}, rank == ranks - 1 ? 9 : 8),
       "a redistribution has the same cut and bytes a site on all ranks, found another than on rank 0");
  says(refusal({rank == 0 ? Coord{4, 4, 4, 8} : Coord{4, 4, 8, 8}, all, {0}, one}), "the same cut");
  says(refusal({lattice, all, {0}, one}, rank == 0 ? 8 : 0), "(seen on rank 1)");
}

}  // namespace in_test_redistribution
}  // namespace trellis
