// ranks: 1 2 3 4 8
/// Sources, propagators and correlators on every process grid, thread count and lane count give the bits of a
/// single process.
#include <gtest/gtest.h>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/measure/noise.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_measure_grids {

const Momenta momenta{{0, 0, 0}, {1, 0, 0}, {0, -1, 1}};

struct Result {
  std::vector<std::complex<double>> propagator;  ///< this is the local part
  std::vector<std::complex<double>> correlators;
  std::vector<double> norm, residual;

  auto members() { return std::tie(propagator, correlators, norm, residual); }
};

/// Returns a smeared source, its propagator, smeared again, and everything that is made of it.
Result measure(const LatticePtr& lattice, const reference::Gauge& U, const Coord& at, int lanes) {
  WilsonParams params;
  params.mass = 0.8;
  params.csw_spatial = params.csw_temporal = 1.0;
  const GaugeField links = test::to_product(lattice, U, lanes);
  const auto matrix = std::make_shared<WilsonMatrix>(
      links, params, KernelChoice{Precision::double_precision, 18, Backend::cpu, lanes});
  const Source source = with_momentum(smeared(point_source(lattice, at), links, {1.5, 3}), {1, 0, 0});
  const Propagator S = solve_propagator(matrix, EvenOddSpec{CgSpec{.tolerance = 1e-6}}, source);
  const Propagator smeared_S = sink_smeared(S, links, {1.0, 2});
  Result r;
  r.propagator.resize(Propagator::canonical_size(S.geometry()));
  smeared_S.to_canonical(r.propagator.data());
  const BaryonQuarks quarks{&S, &S, &smeared_S};
  for (const CorrelatorTable& table :
       {all_meson_correlators(S, smeared_S, momenta),
        octet_correlators(quarks, {"lambda"}, {parity_projector(1)}, momenta),
        projected_correlators(quarks, baryon_states({"proton", "xi_star_zero"}), momenta, -1)})
    r.correlators.insert(r.correlators.end(), table.values.begin(), table.values.end());
  r.norm = propagator_norm(S);
  r.residual = S.report().relative_residual;
  return r;
}

/// Returns the local part of a whole-lattice canonical array.
std::vector<std::complex<double>> local_part(const Geometry& g,
                                             const std::vector<std::complex<double>>& whole) {
  std::vector<std::complex<double>> part;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const auto* p = &whole[size_t(g.global_index(site_coord(site, g.local()))) * 144];
    part.insert(part.end(), p, p + 144);
  }
  return part;
}

void check_lattice(const Coord& extents, const Coord& at) {
  const auto U = test::random_gauge(extents, 71, 0.5);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  set_thread_count(1);
  const Result expected = test::on_one_rank([&] { return measure(alone, U, at, 1); });
  int number = 0;
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    const auto lattice = make_lattice(extents, grid);
    const auto part = local_part(lattice->geometry(), expected.propagator);
    for (const int lanes : {1, 4, 8, 16}) {
      if (world()->size() > 1 && lanes != (number % 2 ? 4 : 16) && lanes != 8) continue;
      set_thread_count(1 + number++ % 2);
      const Result found = measure(lattice, U, at, lanes);
      const std::string where = message(to_string(extents), " grid ", to_string(grid), " lanes ", lanes,
                                        " threads ", thread_count());
      EXPECT_EQ(part, found.propagator) << where;
      EXPECT_EQ(expected.correlators, found.correlators) << where;
      EXPECT_EQ(expected.norm, found.norm) << where;
      EXPECT_EQ(expected.residual, found.residual) << where;
    }
  }
  set_thread_count(1);
}

TEST(MeasureGrids, every_grid_gives_the_bits_of_one_process) { check_lattice({4, 2, 6, 8}, {3, 1, 2, 7}); }

TEST(MeasureGrids, lanes_and_ranks_may_split_the_same_direction) {
  check_lattice({2, 8, 2, 16}, {0, 5, 1, 9});
}

TEST(MeasureGrids, noise_is_the_same_on_every_grid) {
  const Coord extents{4, 2, 6, 8};
  const Noise noise{NoiseKind::z4, 99, 1, 2, 3};
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const auto expected = test::canonical_part(noise_source(alone, noise, 5).columns, 6);
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    const auto lattice = make_lattice(extents, grid);
    const Geometry& g = lattice->geometry();
    const auto found = test::canonical_part(noise_source(lattice, noise, 5).columns, 6);
    for (int64_t site = 0; site < g.local_volume(); ++site)
      for (int64_t k = 0; k < 24; ++k)
        ASSERT_EQ(found[size_t(24 * site + k)],
                  expected[size_t(24 * g.global_index(site_coord(site, g.local())) + k)]);
  }
}

}  // namespace in_test_measure_grids
}  // namespace trellis
