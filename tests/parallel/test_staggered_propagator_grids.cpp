// ranks: 1 2 4
/// On every process grid, with every lane count and backend, staggered propagators from smeared sources of
/// all kinds and their mesons have the bits of a single process.
#include <gtest/gtest.h>

#include "tests/support/on_one_rank.hpp"
#include "tests/support/staggered_fields.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/measure/noise.hpp"
#include "trellis/measure/staggered_propagator.hpp"

namespace trellis {
namespace in_test_staggered_propagator_grids {

constexpr Coord extents{4, 4, 2, 8};
const Momenta momenta{{0, 0, 0}, {1, 0, 1}};

std::vector<Source> sources(const LatticePtr& lattice, const GaugeField& U) {
  const auto kind = SourceKind::colour_vector;
  Noise noise;
  noise.seed = 3;
  return {smeared(point_source(lattice, {1, 2, 1, 5}, kind), U, {1.5, 3}),
          wall_source(lattice, 3, {1, 0, 0}, kind, SourceSites::corners),
          noise_source(lattice, noise, 2, kind)};
}

/// Returns the mesons of all sources, quark and antiquark of two masses, with smeared sinks.
std::vector<std::complex<double>> mesons(const LatticePtr& lattice, const reference::Gauge& links,
                                         const KernelChoice& choice) {
  const GaugeField U = test::to_product(lattice, links, choice.lanes);
  const StaggeredMatrix matrix(std::make_shared<StaggeredLinks>(U, choice), {}, 1.0);
  std::vector<std::complex<double>> values;
  for (const Source& source : sources(lattice, U)) {
    MultiShiftSpec spec;
    spec.tolerance = 1e-8;
    const auto S = solve_staggered_propagators(matrix, {0.7, 0.4}, source, spec);
    const CorrelatorTable table =
        local_meson_correlators(sink_smeared(S[0], U, {1.0, 2}), sink_smeared(S[1], U, {1.0, 2}), momenta);
    values.insert(values.end(), table.values.begin(), table.values.end());
  }
  return values;
}

TEST(StaggeredPropagatorGrids, mesons_have_the_same_bits_everywhere) {
  const auto links = test::random_gauge(extents, 21);
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  KernelChoice choice;
  choice.lanes = 1;
  const auto expected = test::on_one_rank([&] { return mesons(alone, links, choice); });
  EXPECT_EQ(expected.size(), size_t(3 * 8 * 2 * 8));
  for (const Coord& grid : legal_process_grids(extents, world()->size(), 2)) {
    const auto lattice = make_lattice(extents, grid);
    for (const int lanes : {1, 4, 8})
      for (const Backend backend : {Backend::cpu, Backend::gpu_emulated}) {
        if (backend == Backend::gpu_emulated && lanes != 1) continue;
        choice.lanes = lanes;
        choice.backend = backend;
        EXPECT_EQ(mesons(lattice, links, choice), expected)
            << to_string(grid) << " lanes " << lanes << " " << name_of(backend);
      }
  }
}

}  // namespace in_test_staggered_propagator_grids
}  // namespace trellis
