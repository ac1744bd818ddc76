/// Pure-gauge updates and starts have the same bits for every lane count and thread count.
#include <gtest/gtest.h>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_gauge_heatbath {

std::vector<double> links(const GaugeField& U) {
  std::vector<double> x(U.canonical_size());
  U.to_canonical(x.data());
  return x;
}

/// Makes a hot start and updates at a coupling where both ways to draw the SU(2) component occur.
std::vector<double> evolve(const Coord& extents, int lanes, double beta, uint32_t updates = 2) {
  GaugeField U(make_lattice(extents), lanes);
  set_hot(U, 5, 1);
  for (uint32_t k = 0; k < updates; ++k) heatbath_update(U, {beta, 1, 1}, 5, 1, k);
  return links(U);
}

TEST(GaugeHeatbath, does_not_depend_on_lanes_and_threads) {
  const int threads_before = thread_count();
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{6, 4, 2, 8}, Coord{2, 2, 2, 2}, Coord{2, 8, 4, 12}})
    for (const double beta : {0.4, 6.0}) {
      set_thread_count(1);
      const auto expected = evolve(extents, 1, beta);
      for (const int threads : {1, 2, 3})
        for (const int lanes : {1, 4, 8, 16}) {
          set_thread_count(threads);
          EXPECT_TRUE(evolve(extents, lanes, beta) == expected)
              << to_string(extents) << " beta " << beta << " lanes " << lanes << " threads " << threads;
        }
    }
  set_thread_count(threads_before);
}

/// On a lattice that leaves the L2, 48 launches try every way to bring links nearer
/// (device/launch_trials.hpp): an update has eight of them.
TEST(GaugeHeatbath, every_way_to_read_ahead_has_the_same_bits) {
  constexpr uint32_t updates = 7;
  const auto expected = evolve({8, 8, 8, 8}, 1, 6.0, updates);
  for (const int lanes : {4, 8}) EXPECT_TRUE(evolve({8, 8, 8, 8}, lanes, 6.0, updates) == expected) << lanes;
}

TEST(GaugeHeatbath, weak_start_does_not_depend_on_lanes) {
  const LatticePtr lattice = make_lattice({4, 4, 4, 8});
  GaugeField expected(lattice, 1);
  set_weak(expected, 0.3, 9);
  for (const int lanes : {4, 8, 16}) {
    GaugeField U(lattice, lanes);
    set_weak(U, 0.3, 9);
    EXPECT_TRUE(links(U) == links(expected)) << lanes;
  }
}

}  // namespace in_test_gauge_heatbath
}  // namespace trellis
