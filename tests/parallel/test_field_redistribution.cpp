// ranks: 1 2 4 8
/// Fields of any kind move to fewer ranks and back with all their bits, scales included, and no memory is
/// asked for once it is set up.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/allocation_count.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/halo/field_redistribution.hpp"

namespace trellis {
namespace in_test_field_redistribution {

/// Sets a function of each site's place in the whole lattice.
void fill(SiteField& field, int turn) {
  const Geometry& geometry = field.geometry();
  std::vector<double> canonical(size_t(geometry.local_volume() * field.reals()));
  for (int slot = 0; slot < field.slots(); ++slot) {
    size_t i = 0;
    for (int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int real = 0; real < field.reals(); ++real) {
        uint64_t h =
            uint64_t(geometry.global_index(site_coord(site, geometry.local()))) * 31 + uint64_t(real);
        h = (h * 17 + uint64_t(slot) * 7 + uint64_t(turn)) * 0x9e3779b97f4a7c15u;
        canonical[i++] = double((h ^ h >> 29) >> 12) * 0x1p-52 - 0.3;
      }
    field.from_canonical(canonical.data(), slot);
  }
}

/// Triples the scales, as no rounding would leave them: what moves a site by its numbers finds another scale.
void triple_scales(SiteField& field) {
  for (int parity = first_parity(field.subset()); parity <= last_parity(field.subset()); ++parity)
    if (float* scale = field.raw(parity).scale)
      for (size_t i = 0; i < field.storage().scale_bytes() / sizeof(float); ++i) scale[i] *= 3;
}

bool are_same_bits(const SiteField& a, const SiteField& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.memory().data(), b.memory().data(), a.bytes()) == 0;
}

std::vector<FieldSpec> kinds() {
  std::vector<FieldSpec> specs;
  for (const Precision p : all_precisions) {
    specs.push_back({p, Subset::full, 1, 5, Backend::cpu, 4});
    specs.push_back({p, Subset::full, 2, 3, Backend::gpu_emulated, 0, 2});
    specs.push_back({p, Subset::even, 3, 24, Backend::cpu, 8});
    specs.push_back({p, Subset::odd, 1, 7, Backend::cpu, 1});
  }
  return specs;
}

/// Chooses few ranks out of all: it takes the first, or every so many in descending order.
std::vector<int> choose(int few, int all, bool descends) {
  std::vector<int> ranks;
  for (int i = 0; i < few; ++i) ranks.push_back(descends ? all - 1 - i * (all / few) : i);
  return ranks;
}

void check(const LatticePtr& lattice, const FieldSpec& spec, const std::vector<int>& ranks,
           const Coord& grid) {
  SiteField all(lattice, spec), back(lattice, spec);
  FieldRedistribution redistribution(all, ranks, grid);
  const auto few = redistribution.make_few(), expected = redistribution.make_few();
  const std::string words = message(to_string(lattice->geometry().grid().extents()), " to ", to_string(grid),
                                    " ", name_of(spec.precision), " ", spec.reals, " reals");
  for (int turn = 0; turn < 2; ++turn) {  // messages may lie elsewhere in the second
    fill(all, turn);
    redistribution.to_few(few.get(), all);
    if (few) {
      fill(*expected, turn);
      EXPECT_TRUE(are_same_bits(*few, *expected)) << words;
    }
    triple_scales(all);
    const int before = test::allocations();
    redistribution.to_few(few.get(), all);
    redistribution.to_all(back, few.get());
    EXPECT_EQ(test::allocations(), before);
    EXPECT_TRUE(are_same_bits(back, all)) << words;
  }
}

TEST(FieldRedistribution, to_fewer_ranks_and_back_keeps_all_bits) {
  const int ranks = world()->size();
  const std::vector<FieldSpec> specs = kinds();
  size_t number = 0;
  for (const Coord& extents : {Coord{4, 4, 2, 8}, Coord{6, 1, 4, 12}})  // local extents are odd, 1 included
    for (const Coord& all_grid : legal_process_grids(extents, ranks, 1, LocalExtents::any))
      for (const int few : {1, 2, 4})
        if (few <= ranks)
          for (const Coord& few_grid : legal_process_grids(extents, few, 1, LocalExtents::any)) {
            const LatticePtr lattice = make_lattice(extents, all_grid);
            check(lattice, specs[number % specs.size()], choose(few, ranks, number % 2 == 1), few_grid);
            ++number;
          }
  for (const FieldSpec& spec : specs) check(make_lattice({4, 4, 2, 8}), spec, {ranks - 1}, {1, 1, 1, 1});
}

TEST(FieldRedistribution, fields_of_few_ranks_are_whole_fields) {
  const int ranks = world()->size();
  const SiteField all(make_lattice({4, 4, 4, 8}), {.reals = 6});
  const FieldRedistribution redistribution(all, {ranks - 1});
  const auto few = redistribution.make_few();
  EXPECT_EQ(few != nullptr, world()->rank() == ranks - 1);
  if (!few) return;
  EXPECT_EQ(few->lattice().communicator().size(), 1);
  EXPECT_EQ(few->geometry().local(), few->lattice().extents());
  EXPECT_EQ(few->spec(), all.spec());
}

TEST(FieldRedistribution, what_does_not_fit_is_refused_on_all_ranks) {
  const int ranks = world()->size();
  const SiteField like(make_lattice({4, 4, 4, 8}), {.reals = 6});
  EXPECT_THROW(FieldRedistribution(like, {0}, {1, 1, 1, 3}), BadArgument);  // these are three processes
  EXPECT_THROW(FieldRedistribution(like, {}), BadArgument);
  EXPECT_THROW(FieldRedistribution(like, {ranks}), BadArgument);
  FieldRedistribution redistribution(like, {0});
  SiteField other(like.lattice_ptr(), {.reals = 5});
  const auto few = redistribution.make_few();
  EXPECT_THROW(redistribution.to_few(few.get(), other), BadArgument);
  EXPECT_THROW(redistribution.to_all(other, few.get()), BadArgument);
  EXPECT_THROW(redistribution.to_few(few ? nullptr : &other, like), BadArgument);
}

}  // namespace in_test_field_redistribution
}  // namespace trellis
