// ranks: 1 2 4 8
/// A spin glass has the same bits on every grid of ranks. Grids cut one, two and three directions, and the
/// samples.
#include <gtest/gtest.h>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/spin_glasses.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/glass/tempering.hpp"

namespace trellis {
namespace in_test_spin_glass_grids {

constexpr uint64_t seed = 12, stream = 3;
const std::vector<double> betas{0.4, 0.5};

void update(SpinGlass& glass) {
  for (uint32_t step = 0; step < 2; ++step) {
    glass.heat_bath({0.4, 0.5, 0.4, 0.5}, seed, stream, step);
    glass.over_relax(2, 2);
    exchange_temperatures(glass, betas, seed, stream, step);
  }
}

/// Returns this rank's part of what one rank has of the whole lattice.
std::vector<double> part(const std::vector<double>& whole, const Geometry& geometry) {
  std::vector<double> own;
  for (int64_t i = 0; i < geometry.local_volume(); ++i) {
    const size_t at = 3 * size_t(geometry.global_index(site_coord(i, geometry.local())));
    own.insert(own.end(), whole.begin() + long(at), whole.begin() + long(at + 3));
  }
  return own;
}

constexpr Coord lattices[] = {{8, 4, 4, 2}, {4, 4, 4, 8}, {2, 2, 2, 4},
                              {6, 6, 2, 4}, {1, 8, 4, 1}, {2, 4, 16, 1}};
constexpr SpinSums kinds[] = {SpinSums::energy, SpinSums::bonds, SpinSums::overlap, SpinSums::chirality,
                              SpinSums::magnetisation};

struct Result {
  std::vector<std::vector<double>> spins, sums;  ///< [slot] and [kind]

  auto members() { return std::tie(spins, sums); }
};

Result updated(const LatticePtr& lattice, CouplingKind kind, Precision precision) {
  SpinGlass glass(lattice, {.precision = precision, .slots = 4});
  glass.draw_all_couplings(kind, seed, stream);
  glass.randomise(seed, stream);
  update(glass);
  Result result;
  for (int slot = 0; slot < 4; ++slot) result.spins.push_back(test::spins_of(glass, slot));
  for (const SpinSums sums : kinds) result.sums.push_back(spin_sums(glass, sums, {{0, 2}, {1, 3}}));
  return result;
}

TEST(SpinGlassGrids, bits_depend_on_no_grid) {
  for (const Coord& extents : lattices)
    for (const CouplingKind kind : {CouplingKind::gaussian, CouplingKind::plus_minus})
      for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
        const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
        const Result expected = test::on_one_rank([&] { return updated(alone, kind, precision); });
        for (const Coord& grid : legal_process_grids(extents, world()->size(), 1, LocalExtents::any)) {
          const auto lattice = make_lattice(extents, grid);
          const Result found = updated(lattice, kind, precision);
          for (size_t slot = 0; slot < 4; ++slot)
            EXPECT_EQ(found.spins[slot], part(expected.spins[slot], lattice->geometry()))
                << to_string(extents) << " on " << to_string(grid) << " slot " << slot;
          EXPECT_EQ(found.sums, expected.sums) << to_string(extents) << " on " << to_string(grid);
        }
      }
}

TEST(SpinGlassGrids, samples_are_cut_first) {
  EXPECT_EQ(choose_spin_grid({8, 8, 8, 8}, 4), (Coord{1, 1, 1, 4}));
  EXPECT_EQ(choose_spin_grid({8, 8, 16, 1}, 2), (Coord{1, 1, 2, 1}));
  EXPECT_THROW(choose_spin_grid({4, 4, 4, 1}, 7), BadArgument);
}

}  // namespace in_test_spin_glass_grids
}  // namespace trellis
