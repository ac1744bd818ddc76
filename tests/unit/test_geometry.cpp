/// Geometry, process grids and lane splits have inverse maps and the right neighbours; grids are legal or
/// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/lattice/lane_split.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {
namespace in_test_geometry {

TEST(Sites, index_and_coordinate_are_inverse_and_x_is_fastest) {
  const Coord L{4, 2, 6, 10};
  EXPECT_EQ(site_index({1, 0, 0, 0}, L), 1);
  EXPECT_EQ(site_index({0, 1, 0, 0}, L), 4);
  EXPECT_EQ(site_index({0, 0, 1, 0}, L), 8);
  EXPECT_EQ(site_index({0, 0, 0, 1}, L), 48);
  for (int64_t i = 0; i < product(L); ++i) EXPECT_EQ(site_index(site_coord(i, L), L), i);
  EXPECT_EQ(site_parity({0, 0, 0, 0}), 0);
  EXPECT_EQ(site_parity({1, 2, 3, 1}), 1);
  EXPECT_EQ(product({512, 512, 512, 1024}), int64_t(1) << 37);  // it is beyond 32 bits
  EXPECT_EQ(site_index({511, 511, 511, 1023}, {512, 512, 512, 1024}), (int64_t(1) << 37) - 1);
}

TEST(ProcessGrid, ranks_and_coordinates_are_inverse) {
  std::vector<int> reversed(2 * 3 * 1 * 4);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  for (const ProcessGrid& grid : {ProcessGrid({2, 3, 1, 4}), ProcessGrid({2, 3, 1, 4}, reversed)}) {
    std::set<Coord> seen;
    for (int rank = 0; rank < grid.size(); ++rank) {
      const Coord c = grid.coord_of(rank);
      seen.insert(c);
      EXPECT_EQ(grid.rank_of(c), rank);
      EXPECT_EQ(grid.rank_of({c[0] + 2, c[1] - 3, c[2] + 5, c[3] - 8}), rank) << "coordinates wrap around";
    }
    EXPECT_EQ(int(seen.size()), grid.size());
  }
  EXPECT_EQ(ProcessGrid({2, 3, 1, 4}).rank_of({1, 0, 0, 0}), 1) << "x runs fastest by default";
}

TEST(ProcessGrid, wrong_maps_are_refused) {
  EXPECT_THROW(ProcessGrid({2, 1, 1, 1}, {0, 0}), BadArgument);
  EXPECT_THROW(ProcessGrid({2, 1, 1, 1}, {0, 2}), BadArgument);
  EXPECT_THROW(ProcessGrid({2, 1, 1, 1}, {0, 1, 2}), BadArgument);
  EXPECT_THROW(ProcessGrid({2, 0, 1, 1}), BadArgument);
  EXPECT_THROW(ProcessGrid({2, 1, 1, 1}).coord_of(2), BadArgument);
}

/// Finds every grid of up to n ranks by brute force over all factors.
std::vector<Coord> brute_force_grids(const Coord& L, int ranks, int min_split) {
  std::vector<Coord> grids;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; y <= ranks; ++y)
      for (int z = 1; z <= ranks; ++z)
        for (int t = 1; t <= ranks; ++t) {
          const Coord g{x, y, z, t};
          bool legal = product(g) == ranks;
          for (int mu = 0; mu < Nd; ++mu)
            legal = legal && L[mu] % g[mu] == 0 && L[mu] / g[mu] % 2 == 0 &&
                    (g[mu] == 1 || L[mu] / g[mu] >= min_split);
          if (legal) grids.push_back(g);
        }
  return grids;
}

TEST(ProcessGrid, legal_grids_are_all_legal_grids) {
  for (const Coord& L : {Coord{4, 4, 4, 8}, {2, 6, 12, 4}, {8, 8, 8, 16}})
    for (int ranks : {1, 2, 3, 4, 6, 8, 12})
      for (int min_split : {2, 4}) {
        auto seen = legal_process_grids(L, ranks, min_split),
             expected = brute_force_grids(L, ranks, min_split);
        std::sort(seen.begin(), seen.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(seen, expected) << to_string(L) << " over " << ranks;
      }
}

TEST(ProcessGrid, odd_parts_are_legal_where_any_are_asked_for) {
  EXPECT_TRUE(legal_process_grids({6, 6, 1, 1}, 4).empty()) << "even local extents";
  EXPECT_EQ(legal_process_grids({6, 6, 1, 1}, 36, 1, LocalExtents::any), (std::vector<Coord>{{6, 6, 1, 1}}));
  EXPECT_EQ(legal_process_grids({6, 2, 1, 1}, 2, 2, LocalExtents::any), (std::vector<Coord>{{2, 1, 1, 1}}));
  EXPECT_EQ(choose_process_grid({8, 1, 1, 4}, 2), (Coord{2, 1, 1, 1})) << "an extent of 1 is not split";
}

TEST(ProcessGrid, the_choice_has_the_least_surface) {
  EXPECT_EQ(choose_process_grid({8, 8, 8, 16}, 2), (Coord{1, 1, 1, 2}));
  EXPECT_EQ(choose_process_grid({16, 8, 8, 8}, 2), (Coord{2, 1, 1, 1}));
  EXPECT_EQ(choose_process_grid({8, 8, 8, 8}, 2), (Coord{1, 1, 1, 2})) << "ties cut later directions first";
  EXPECT_EQ(choose_process_grid({8, 8, 8, 8}, 1), (Coord{1, 1, 1, 1}));
  EXPECT_EQ(choose_process_grid({6, 4, 4, 4}, 3), (Coord{3, 1, 1, 1}));
  for (const Coord& L : {Coord{4, 4, 4, 8}, {8, 8, 8, 16}, {4, 6, 8, 12}})
    for (int ranks : {2, 4, 6, 8}) {
      if (legal_process_grids(L, ranks).empty()) continue;
      auto surface = [&](const Coord& g) {
        int64_t sum = 0;
        for (int mu = 0; mu < Nd; ++mu)
          if (g[mu] > 1) sum += product(L) / ranks / (L[mu] / g[mu]);
        return sum;
      };
      const int64_t chosen = surface(choose_process_grid(L, ranks));
      for (const Coord& g : legal_process_grids(L, ranks))
        EXPECT_LE(chosen, surface(g)) << to_string(L) << " " << ranks;
    }
}

TEST(ProcessGrid, the_choice_leaves_room_for_three_links_where_a_grid_does) {
  EXPECT_EQ(choose_process_grid({4, 4, 8, 8}, 4), (Coord{1, 1, 2, 2})) << "1x1x1x4 has the same surface";
  EXPECT_EQ(choose_process_grid({8, 8, 8, 8}, 8), (Coord{1, 2, 2, 2}));
  EXPECT_EQ(choose_process_grid({4, 4, 4, 8}, 4), (Coord{1, 1, 1, 4})) << "no grid does";
}

TEST(ProcessGrid, impossible_cuts_are_refused_with_the_counts_that_work) {
  try {
    choose_process_grid({4, 4, 4, 4}, 5);
    FAIL() << "5 ranks cannot share 4^4";
  } catch (const BadArgument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("4x4x4x4"), std::string::npos) << text;
    EXPECT_NE(text.find("5 ranks"), std::string::npos) << text;
    EXPECT_NE(text.find("1, 2, 4, 8, 16"), std::string::npos) << text;
  }
  EXPECT_THROW(choose_process_grid({2, 2, 2, 2}, 2), BadArgument);
  EXPECT_THROW(choose_process_grid({4, 4, 4, 4}, 2, 4), BadArgument) << "width 3 needs extents of 4";
}

TEST(Geometry, illegal_lattices_are_refused) {
  EXPECT_THROW(Geometry({3, 4, 4, 4}), BadArgument);
  EXPECT_THROW(Geometry({4, 4, 0, 4}), BadArgument);
  EXPECT_THROW(Geometry({4, 4, -2, 4}), BadArgument);
  EXPECT_THROW(Geometry({4, 4, 4, 6}, ProcessGrid({1, 1, 1, 4})), BadArgument) << "6 in 4 parts";
  EXPECT_THROW(Geometry({4, 4, 4, 1}, ProcessGrid({1, 1, 1, 2})), BadArgument) << "1 in 2 parts";
  EXPECT_THROW(Geometry({4, 4, 4, 4}, ProcessGrid({1, 1, 1, 2}), 2), BadArgument) << "rank 2 of 2";
}

TEST(Geometry, gauge_fields_and_quarks_ask_for_more) {
  EXPECT_NO_THROW(require_even_parts(Geometry({4, 4, 1, 6}), "it"));
  EXPECT_THROW(require_even_parts(Geometry({4, 4, 4, 6}, ProcessGrid({1, 1, 1, 2})), "it"), BadArgument);
  EXPECT_THROW(require_even_parts(Geometry({4, 4, 4, 4}, ProcessGrid({1, 1, 1, 4})), "it"), BadArgument);
  EXPECT_NO_THROW(require_all_directions(Geometry({4, 4, 4, 4}, ProcessGrid({1, 1, 1, 4})), "it"));
  EXPECT_THROW(require_all_directions(Geometry({4, 1, 4, 4}), "it"), BadArgument);
  Boundary boundary = periodic_boundary;
  EXPECT_NO_THROW(require_periodic(Geometry({4, 4, 4, 4}, ProcessGrid{}, 0, boundary), "it"));
  boundary[3] = Edge::open;
  EXPECT_THROW(require_periodic(Geometry({4, 4, 4, 4}, ProcessGrid{}, 0, boundary), "it"), BadArgument);
}

TEST(Geometry, coordinates_beyond_the_lattice_lead_around_to_walls_or_nowhere) {
  const Coord extents{4, 6, 1, 8};
  const Boundary boundary{Edge::periodic, Edge::wall, Edge::periodic, Edge::open};
  const auto kind = [&](Coord x) { return resolve(x, extents, boundary); };
  Coord x{-5, 5, 0, 7};
  EXPECT_EQ(resolve(x, extents, boundary), SiteKind::site);
  EXPECT_EQ(x, (Coord{3, 5, 0, 7}));
  EXPECT_EQ(kind({0, 6, 0, 0}), SiteKind::wall);
  EXPECT_EQ(kind({0, -1, 0, 0}), SiteKind::wall);
  EXPECT_EQ(kind({0, 0, 1, 0}), SiteKind::none) << "an extent of 1 has no hop";
  EXPECT_EQ(kind({0, 0, 0, 8}), SiteKind::none);
  EXPECT_EQ(kind({0, 6, 0, -1}), SiteKind::none) << "a wall beyond an open edge";
}

TEST(Geometry, every_site_belongs_to_one_rank) {
  const Coord L{4, 12, 2, 8};
  std::vector<int> map{5, 3, 4, 0, 2, 1};
  const ProcessGrid grid({1, 3, 1, 2}, map);
  std::vector<int> owners(size_t(product(L)), 0);
  for (int rank = 0; rank < grid.size(); ++rank) {
    const Geometry geometry(L, grid, rank);
    EXPECT_EQ(geometry.local(), (Coord{4, 4, 2, 4}));
    EXPECT_EQ(geometry.local_volume() * grid.size(), geometry.volume());
    for (int64_t i = 0; i < geometry.local_volume(); ++i) {
      const Coord x = site_coord(i, geometry.local()), global = geometry.to_global(x);
      EXPECT_TRUE(geometry.owns(global));
      EXPECT_EQ(geometry.to_local(global), x);
      EXPECT_EQ(site_parity(x), site_parity(global));
      EXPECT_EQ(geometry.global_index(x), site_index(global, L));
      ++owners[size_t(site_index(global, L))];
    }
  }
  EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), product(L));
}

TEST(Geometry, neighbour_ranks_own_the_neighbouring_sites) {
  const Coord L{4, 12, 2, 8};
  const ProcessGrid grid({2, 3, 1, 2}, {7, 3, 4, 0, 2, 1, 11, 10, 5, 6, 9, 8});
  for (int rank = 0; rank < grid.size(); ++rank) {
    const Geometry geometry(L, grid, rank);
    for (int mu = 0; mu < Nd; ++mu)
      for (const int step : {1, -1}) {
        Coord edge = geometry.origin();
        if (step > 0) edge[mu] += geometry.local()[mu] - 1;
        Coord beyond = edge;
        beyond[mu] = (beyond[mu] + step + L[mu]) % L[mu];
        const Geometry neighbour(L, grid, geometry.neighbour_rank(mu, step));
        EXPECT_TRUE(neighbour.owns(beyond)) << "rank " << rank << " mu " << mu << " step " << step;
        EXPECT_EQ(geometry.at_boundary(mu, step), edge[mu] == (step > 0 ? L[mu] - 1 : 0));
        EXPECT_EQ(geometry.is_split(mu), grid.extents()[mu] > 1);
      }
  }
}

/// Counts the faces between ranks of different nodes, weighted with the sites of a face.
int64_t surface_between_nodes(const Coord& lattice, const ProcessGrid& grid, const std::vector<int>& nodes) {
  int64_t surface = 0;
  for (int rank = 0; rank < grid.size(); ++rank) {
    const Geometry geometry(lattice, grid, rank);
    for (int mu = 0; mu < Nd; ++mu)
      if (nodes[size_t(geometry.neighbour_rank(mu, 1))] != nodes[size_t(rank)])
        surface += geometry.local_volume() / geometry.local()[mu];
  }
  return surface;
}

TEST(ProcessGrid, ranks_of_a_node_lie_side_by_side) {
  const Coord lattice{16, 16, 16, 32}, extents{2, 2, 2, 4};
  std::vector<int> nodes(32);
  for (int rank = 0; rank < 32; ++rank) nodes[size_t(rank)] = rank / 4 * 4;
  const ProcessGrid plain(extents), grouped = group_by_node(lattice, extents, nodes);
  // For 4 ranks the best boxes are 2 x 2 in two directions of space; x fastest takes these in x and y.
  EXPECT_EQ(surface_between_nodes(lattice, grouped, nodes), surface_between_nodes(lattice, plain, nodes));
  const std::vector<int> by_four = nodes;
  for (int rank = 0; rank < 32; ++rank) nodes[size_t(rank)] = rank % 8;  // ranks dealt out in turn
  const ProcessGrid dealt = group_by_node(lattice, extents, nodes);
  EXPECT_EQ(surface_between_nodes(lattice, dealt, nodes), surface_between_nodes(lattice, grouped, by_four));
  EXPECT_FALSE(dealt == plain);
  for (int rank = 0; rank < 32; ++rank) EXPECT_EQ(dealt.rank_of(dealt.coord_of(rank)), rank);
  // Local lattices are short in t: whole columns of t on a node beat the 2 x 2 x 2 that the order of
  // ranks gives
  for (int rank = 0; rank < 32; ++rank) nodes[size_t(rank)] = rank / 8;
  const Coord flat{16, 16, 16, 8};
  EXPECT_EQ(surface_between_nodes(flat, plain, nodes), 32 * 512);
  EXPECT_EQ(surface_between_nodes(flat, group_by_node(flat, extents, nodes), nodes), 32 * 2 * 128);
}

TEST(ProcessGrid, without_equal_nodes_ranks_keep_their_order) {
  const Coord lattice{8, 8, 8, 8}, extents{1, 2, 2, 2};
  const ProcessGrid plain(extents);
  EXPECT_TRUE(group_by_node(lattice, extents, {0, 0, 0, 0, 0, 0, 0, 0}) == plain);
  EXPECT_TRUE(group_by_node(lattice, extents, {0, 0, 0, 3, 3, 3, 6, 6}) == plain);
  EXPECT_TRUE(group_by_node(lattice, {1, 1, 1, 3}, {0, 0, 2}) == ProcessGrid({1, 1, 1, 3}));
}

TEST(Geometry, equality) {
  const Geometry a({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2}), 0);
  EXPECT_TRUE(a == Geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2}), 0));
  EXPECT_FALSE(a == Geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2}), 1));
  EXPECT_FALSE(a == Geometry({4, 4, 4, 8}));
  EXPECT_FALSE(a == Geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2}, {1, 0}), 1));
  EXPECT_FALSE(a == Geometry({4, 4, 4, 8}, ProcessGrid({1, 1, 1, 2}), 0,
                             {Edge::periodic, Edge::periodic, Edge::periodic, Edge::open}));
}

TEST(LaneSplit, sub_lattices_are_even_and_as_many_as_possible) {
  for (const Coord& L :
       {Coord{4, 4, 4, 4}, {2, 2, 2, 2}, {2, 4, 2, 8}, {6, 6, 6, 6}, {16, 2, 2, 2}, {8, 12, 4, 10}})
    for (const int lanes : {1, 4, 8, 16}) {
      const Geometry geometry(L);
      const LaneSplit split = choose_lane_split(geometry, lanes);
      int64_t possible = 1;  // it counts every factor of two that leaves an even extent
      for (int mu = 0; mu < Nd; ++mu) {
        EXPECT_EQ(L[mu] / split.lanes_per_direction[mu] % 2, 0) << to_string(L) << " in " << lanes;
        EXPECT_EQ(L[mu] % split.lanes_per_direction[mu], 0);
        for (int sub = L[mu]; sub % 4 == 0; sub /= 2) possible *= 2;
      }
      int expected = lanes;
      while (expected > possible || expected == 2) expected /= 2;
      EXPECT_EQ(split.lanes(), expected) << to_string(L) << " in " << lanes;
    }
  EXPECT_THROW(choose_lane_split(Geometry({4, 4, 4, 4}), 2), BadArgument);
  EXPECT_THROW(choose_lane_split(Geometry({4, 4, 4, 4}), 32), BadArgument);
}

TEST(LaneSplit, prefers_directions_that_ranks_do_not_split) {
  const Geometry geometry({8, 8, 8, 32}, ProcessGrid({1, 1, 1, 2}));
  EXPECT_EQ(choose_lane_split(geometry, 8).lanes_per_direction, (Coord{2, 2, 2, 1}));
}

}  // namespace in_test_geometry
}  // namespace trellis
