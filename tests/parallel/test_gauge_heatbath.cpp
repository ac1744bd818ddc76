// ranks: 1 2 4 8
/// A pure-gauge chain on every process grid has the bits of a single process.
#include <gtest/gtest.h>

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_gauge_heatbath {

std::vector<double> evolve(const LatticePtr& lattice, int lanes) {
  GaugeField U(lattice, lanes);
  set_hot(U, 13);
  for (uint32_t k = 0; k < 2; ++k) heatbath_update(U, {5.9, 1, 1}, 13, 0, k);
  std::vector<double> x(U.canonical_size());
  U.to_canonical(x.data());
  return x;
}

void check_lattice(const Coord& extents) {
  const auto alone = make_lattice(extents, {1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  const std::vector<double> whole = evolve(alone, 1);
  for (const Coord& grid : legal_process_grids(extents, world()->size())) {
    const auto lattice = make_lattice(extents, grid);
    const Geometry& g = lattice->geometry();
    for (const int lanes : {1, 8}) {
      const std::vector<double> part = evolve(lattice, lanes);
      int64_t different = 0;
      for (int64_t site = 0; site < g.local_volume(); ++site)
        different += std::memcmp(&part[size_t(site) * 72],
                                 &whole[size_t(g.global_index(site_coord(site, g.local()))) * 72],
                                 72 * sizeof(double)) != 0;
      EXPECT_EQ(different, 0) << to_string(extents) << " grid " << to_string(grid) << " lanes " << lanes;
    }
  }
}

TEST(GaugeHeatbathGrids, every_grid_gives_the_bits_of_one_process) {
  check_lattice({4, 4, 4, 8});
  check_lattice({4, 2, 8, 8});
}

}  // namespace in_test_gauge_heatbath
}  // namespace trellis
