// ranks: 1 2 8
/// The halo of a field of any kind holds the sites that their coordinates name, bit for bit: on every process
/// grid, with local extents of 1 and odd ones, in every storage and layout.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/allocation_count.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/field/halo/halo_exchange.hpp"

namespace trellis {
namespace in_test_halo_exchange {

/// Returns what the site at global coordinates holds: numbers of different sizes, so that scales of sites
/// differ.
double value(const Coord& global, const Coord& extents, int slot, int real, int turn) {
  const uint64_t site = uint64_t(site_index(global, extents));
  uint64_t n =
      (((site * 7 + uint64_t(slot)) * 131 + uint64_t(real)) * 3 + uint64_t(turn)) * 0x9e3779b97f4a7c15u;
  n ^= n >> 29;
  n *= 0xbf58476d1ce4e5b9u;
  return (double(n >> 12) * 0x1p-51 - 1) * double(1 + site % 7);
}

void fill(SiteField& field, int turn) {
  const Geometry& geometry = field.geometry();
  const int64_t volume = geometry.local_volume();
  std::vector<double> canonical(size_t(volume * field.reals()));
  for (int slot = 0; slot < field.slots(); ++slot) {
    for (int64_t i = 0; i < volume; ++i)
      for (int real = 0; real < field.reals(); ++real)
        canonical[size_t(i * field.reals() + real)] =
            value(geometry.to_global(site_coord(i, geometry.local())), geometry.lattice(), slot, real, turn);
    field.from_canonical(canonical.data(), slot);
  }
}

/// Returns what such a field keeps of the numbers of the whole lattice: [site][slot][real].
std::vector<double> stored(const SiteField& field, int turn) {
  const Coord& extents = field.lattice().extents();
  const int sites = int(field.lattice().volume()), n = field.reals();
  std::vector<double> reals(static_cast<size_t>(n)), result;
  SiteStorage whole{field.precision(), Backend::gpu_emulated, 1, sites, field.slots(), n};
  std::vector<double> memory(whole.bytes() / sizeof(double));
  for (int site = 0; site < sites; ++site)
    for (int slot = 0; slot < field.slots(); ++slot) {
      for (int i = 0; i < n; ++i) reals[size_t(i)] = value(site_coord(site, extents), extents, slot, i, turn);
      whole.set(memory.data(), site, 0, slot, reals.data());
      for (int i = 0; i < n; ++i) result.push_back(whole.get(memory.data(), site, 0, slot, i));
    }
  return result;
}

/// Calls f(local coordinates) in a box that reaches `width` beyond this rank's sites.
template <class F>
void for_each_around(const Geometry& geometry, int width, const F& f) {
  Coord box;
  for (int mu = 0; mu < Nd; ++mu) box[mu] = geometry.local()[mu] + 2 * width;
  for (int64_t i = 0; i < product(box); ++i) {
    Coord x = site_coord(i, box);
    for (int mu = 0; mu < Nd; ++mu) x[mu] -= width;
    f(x);
  }
}

/// Returns beyond how many faces of this rank x lies: faces are where ranks split the lattice, and walls.
int faces_beyond(const Geometry& geometry, const Coord& x) {
  int count = 0;
  for (int mu = 0; mu < Nd; ++mu) {
    const bool has_face = geometry.is_split(mu) || geometry.boundary()[mu] == Edge::wall;
    count += has_face && (x[mu] < 0 || x[mu] >= geometry.local()[mu]) ? 1 : 0;
  }
  return count;
}

/// Counts the reals around this rank that are not those of their coordinates, and reads that should be
/// refused and are not.
int wrong_reals(const HaloExchange& halo, const SiteField& field, int turn) {
  const Geometry& geometry = field.geometry();
  const auto [width, corners] = halo.sites().shape();
  const size_t n = size_t(field.reals()), slots = size_t(field.slots());
  const std::vector<double> expected = stored(field, turn);
  std::vector<double> reals(n);
  int wrong = 0;
  for_each_around(geometry, width, [&](const Coord& x) {
    Coord global = geometry.to_global(x);
    const SiteKind kind = resolve(global, geometry.lattice(), geometry.boundary());
    if (faces_beyond(geometry, x) > (corners ? Nd : 1)) return;
    if (kind == SiteKind::none) {
      wrong += halo.get_site(field, x, 0, reals.data()) ? 1 : 0;
      return;
    }
    const int parity = site_parity(global);
    if (parity < first_parity(field.subset()) || parity > last_parity(field.subset())) return;
    for (size_t slot = 0; slot < slots; ++slot) {
      const double* site = &expected[(size_t(site_index(global, geometry.lattice())) * slots + slot) * n];
      if (!halo.get_site(field, x, int(slot), reals.data())) ++wrong;
      for (size_t i = 0; i < n; ++i) wrong += reals[i] != (kind == SiteKind::wall ? 0.0 : site[i]) ? 1 : 0;
    }
  });
  return wrong;
}

std::vector<FieldSpec> storages(int rhs, Subset subset = Subset::full) {
  std::vector<FieldSpec> specs;
  for (const Precision p : all_precisions) {
    specs.push_back({p, subset, rhs, 5, Backend::cpu, 8});
    specs.push_back({p, subset, rhs, 5, Backend::gpu_emulated, 0});
  }
  specs.push_back({Precision::half_precision, subset, rhs, 5, Backend::cpu, 16});
  specs.push_back({Precision::double_precision, subset, rhs, 5, Backend::cpu, 1});
  return specs;
}

void check(const SiteField& like, HaloExchange& halo, int turns) {
  SiteField field = like;
  for (int turn = 0; turn < turns; ++turn) {  // messages may lie elsewhere in the second turn
    fill(field, turn);
    halo.start(field);
    halo.finish();
    EXPECT_EQ(wrong_reals(halo, field, turn), 0)
        << to_string(field.lattice().extents()) << " grid " << to_string(field.geometry().grid().extents())
        << " " << name_of(field.precision()) << " " << name_of(field.spec().backend) << " lanes "
        << field.layout().lanes() << " width " << halo.sites().shape().width
        << (halo.sites().shape().corners ? " with corners" : "") << " subset " << int(field.subset());
  }
}

void check(const LatticePtr& lattice, const FieldSpec& spec, HaloShape shape) {
  const SiteField like(lattice, spec);
  HaloExchange halo(like, shape);
  check(like, halo, 2);
}

std::vector<LatticePtr> all_cuts(const Coord& extents, const Boundary& boundary = periodic_boundary) {
  std::vector<LatticePtr> lattices;
  for (const Coord& grid : legal_process_grids(extents, world()->size(), 1, LocalExtents::any))
    lattices.push_back(make_lattice(extents, grid, nullptr, boundary));
  return lattices;
}

/// Returns how often an exchange asks for memory. @pre it is not the first, for which MPI may set up a
/// connection
int allocations_of_exchange(HaloExchange& halo, const SiteField& field) {
  const int before = test::allocations();
  halo.exchange(field);
  return test::allocations() - before;
}

TEST(HaloExchange, five_reals_of_width_two_on_every_grid) {
  for (const Coord& extents : {Coord{8, 4, 4, 8}, {6, 6, 2, 4}})
    for (const LatticePtr& lattice : all_cuts(extents))
      for (const bool corners : {false, true}) {
        std::map<const SiteLayout*, SiteHaloPtr> sites;  // fields of one layout share what they can
        for (const FieldSpec& spec : storages(1)) {
          const SiteField like(lattice, spec);
          SiteHaloPtr& shared = sites[&like.layout()];
          if (!shared) shared = std::make_shared<SiteHalo>(like.layout_ptr(), HaloShape{2, corners});
          HaloExchange halo(like, shared);
          check(like, halo, 1);
          EXPECT_EQ(allocations_of_exchange(halo, like), 0)
              << "grid " << to_string(lattice->geometry().grid().extents()) << " " << name_of(spec.precision)
              << " " << name_of(spec.backend);
        }
      }
}

TEST(HaloExchange, extents_of_one_and_blocks_of_one_parity) {
  for (const Coord& extents : {Coord{6, 6, 2, 1}, {8, 1, 4, 4}, {1, 1, 2, 16}})
    for (const LatticePtr& lattice : all_cuts(extents))
      for (const Subset subset : {Subset::full, Subset::even, Subset::odd})
        check(lattice, {Precision::half_precision, subset, 1, 5, Backend::cpu, 4}, {1, true});
}

TEST(HaloExchange, all_widths_many_slots_and_one_parity) {
  for (const LatticePtr& lattice : all_cuts({4, 4, 2, 8}))
    for (const int width : {1, 3})
      for (const Subset subset : {Subset::full, Subset::odd})
        check(lattice, {Precision::single_precision, subset, 2, 3, Backend::cpu, 0, 2}, {width, width == 1});
}

TEST(HaloExchange, nothing_lies_beyond_open_edges_and_walls_are_zero) {
  const Boundary boundary{Edge::wall, Edge::periodic, Edge::periodic, Edge::open};
  for (const LatticePtr& lattice : all_cuts({4, 4, 2, 8}, boundary))
    for (const bool corners : {false, true})
      check(lattice, {Precision::double_precision, Subset::full, 1, 5}, {2, corners});
}

TEST(HaloExchange, there_is_one_message_to_each_neighbour_and_none_across_open_edges) {
  const int ranks = world()->size(), rank = world()->rank();
  const auto messages = [&](Edge edge, int width) {
    const LatticePtr lattice = make_lattice({4, 4, 4, 2 * ranks}, {1, 1, 1, ranks}, nullptr,
                                            {Edge::periodic, edge, Edge::periodic, edge});
    return HaloExchange(SiteField(lattice, {.reals = 5}), HaloShape{width, true}).messages();
  };
  EXPECT_EQ(messages(Edge::periodic, 1), ranks == 1 ? 0 : ranks == 2 ? 1 : 2);
  const bool is_end = rank == 0 || rank == ranks - 1;
  EXPECT_EQ(messages(Edge::open, 1), ranks == 1 ? 0 : is_end ? 1 : 2);
  if (ranks == 8) {
    EXPECT_EQ(messages(Edge::periodic, 3), 4) << "the halo reaches two ranks far";
  }
}

TEST(HaloExchange, tables_of_neighbours_name_the_sites_of_the_halo) {
  for (const LatticePtr& lattice :
       all_cuts({6, 6, 2, 4}, {Edge::periodic, Edge::open, Edge::wall, Edge::periodic})) {
    const SiteField field(lattice, {.reals = 5});
    const SiteLayout& layout = field.layout();
    const SiteHalo halo(field.layout_ptr(), {2, true});
    for (const Coord& step : {Coord{1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 2}, {1, 1, 0, -1}})
      for (int parity = 0; parity < 2; ++parity) {
        const std::vector<int32_t> table = halo.neighbours(parity, step);
        ASSERT_EQ(int(table.size()), layout.blocks(parity) * layout.lanes());
        for (size_t i = 0; i < table.size(); ++i) {
          Coord x = layout.coord({parity, int(i) / layout.lanes(), int(i) % layout.lanes()});
          for (int mu = 0; mu < Nd; ++mu) x[mu] += step[mu];
          const SiteHalo::Site site = halo.find(x);
          if (site.kind == SiteHalo::Kind::none)
            ASSERT_EQ(table[i], -1);
          else if (site.kind == SiteHalo::Kind::ghost)
            ASSERT_EQ(table[i], site.ghost << 1 | 1);
          else
            ASSERT_EQ(table[i], (site.at.block * layout.lanes() + site.at.lane) << 1);
        }
      }
  }
}

TEST(HaloExchange, ghosts_beside_a_block_are_a_block_where_no_lanes_divide_the_cut) {
  const int ranks = world()->size();
  const LatticePtr lattice = make_lattice({8, 8, 4, 4 * ranks}, {1, 1, 1, ranks});
  for (const int reals : {5, 6})
    for (const Precision precision : all_precisions)
      check(lattice, {precision, Subset::even, 2, reals, Backend::cpu, 8}, {2, true});
  const SiteField field(lattice, {.reals = 5, .lanes = 8});
  const SiteLayout& layout = field.layout();
  ASSERT_EQ(layout.lanes(), 8);
  ASSERT_EQ(layout.lane_extents()[3], 1);
  const SiteHalo halo(field.layout_ptr(), {1, false}, 1);
  EXPECT_TRUE(halo.plan().is_in_blocks);
  for (const int step : {1, -1}) {
    const std::vector<int32_t> table = halo.neighbours(0, {0, 0, 0, step});
    int blocks_of_ghosts = 0;
    for (size_t i = 0; i < table.size(); i += 8) {
      if ((table[i] & 1) == 0) continue;
      ++blocks_of_ghosts;
      EXPECT_EQ((table[i] >> 1) % 8, 0);
      for (size_t lane = 0; lane < 8; ++lane) EXPECT_EQ(table[i + lane], table[i] + 2 * int32_t(lane));
    }
    EXPECT_EQ(blocks_of_ghosts, ranks > 1 ? 8 * 8 * 4 / 2 / 8 : 0);
  }
}

TEST(HaloExchange, does_not_allocate_whichever_way_it_travels) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 2 * world()->size()});
  const SiteField field(lattice, {.precision = Precision::half_precision, .rhs = 2, .reals = 5});
  for (const ExchangePolicy policy :
       {ExchangePolicy::persistent, ExchangePolicy::shared, ExchangePolicy::copied}) {
    set_exchange_policy(policy);
    const int before = test::allocations();
    HaloExchange halo(field, HaloShape{2, true});
    EXPECT_GT(test::allocations(), before) << "to make it takes memory, which is counted";
    halo.exchange(field);
    EXPECT_EQ(allocations_of_exchange(halo, field), 0) << name_of(policy);
  }
  set_exchange_policy(ExchangePolicy::automatic);
}

TEST(HaloExchange, what_it_cannot_do_is_refused) {
  const int ranks = world()->size();
  const LatticePtr lattice = make_lattice({4, 4, 4, 2 * ranks}, {1, 1, 1, ranks});
  const SiteField field(lattice, {.reals = 5}), other(lattice, {.reals = 6});
  EXPECT_THROW(HaloExchange(field, HaloShape{4, false}), BadArgument);
  EXPECT_THROW(HaloExchange(field, HaloShape{0, false}), BadArgument);
  HaloExchange halo(field, HaloShape{1, false});
  EXPECT_THROW(halo.start(other), BadArgument);
  double reals[5];
  if (ranks > 1) {
    EXPECT_THROW(halo.get_site(field, {0, 0, 0, -2}, 0, reals), BadArgument);
  }
  EXPECT_TRUE(halo.get_site(field, {-3, 9, 0, 0}, 0, reals)) << "directions that are not split lead around";
}

}  // namespace in_test_halo_exchange
}  // namespace trellis
