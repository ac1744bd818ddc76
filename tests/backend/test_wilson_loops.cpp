/// Wilson loops equal the path-ordered products of the reference and are gauge invariant; W(1,1) is the
/// plaquette and W(1,2) the rectangle; the bits are the same for every lane count and thread count.
#include <gtest/gtest.h>

#include "reference/loops.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/wilson_loops.hpp"

namespace trellis {
namespace in_test_wilson_loops {

using Loops = std::vector<std::vector<double>>;

std::vector<std::array<int, 2>> pairs_of(LoopPlanes planes) {
  std::vector<std::array<int, 2>> pairs;
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = 0; nu < Nd; ++nu) {
      const bool is_temporal = mu != 3 && nu == 3, is_spatial = mu != 3 && nu != 3;
      if (mu != nu &&
          (planes == LoopPlanes::all || (planes == LoopPlanes::temporal ? is_temporal : is_spatial)))
        pairs.push_back({mu, nu});
    }
  return pairs;
}

/// These are means of numbers below 1, of up to 2 (R + T) products of six terms each.
const double tolerance = test::rounding(150);

TEST(WilsonLoops, equal_the_reference) {
  const Coord extents{4, 6, 2, 4};
  const auto U = test::random_gauge(extents, 31, 0.5);  // loops of random links would all be near zero
  const GaugeField field = test::to_product(make_lattice(extents), U);
  for (const LoopPlanes planes : {LoopPlanes::temporal, LoopPlanes::spatial, LoopPlanes::all}) {
    const Loops W = wilson_loops(field, 3, 4, planes);
    ASSERT_EQ(W.size(), 3U);
    for (int R = 1; R <= 3; ++R)
      for (int T = 1; T <= 4; ++T) {
        double expected = 0;
        const auto pairs = pairs_of(planes);
        for (const auto& [mu, nu] : pairs) expected += reference::wilson_loop(U, mu, R, nu, T);
        EXPECT_NEAR(W[size_t(R - 1)][size_t(T - 1)], expected / double(pairs.size()), tolerance) << R << T;
      }
  }
}

TEST(WilsonLoops, contain_plaquette_and_rectangle_and_are_gauge_invariant) {
  const Coord extents{4, 4, 6, 8};
  const auto U = test::random_gauge(extents, 33, 0.7);
  const auto lattice = make_lattice(extents);
  const GaugeField field = test::to_product(lattice, U);
  const GaugeLoops loops = measure_loops(field);
  const Loops all = wilson_loops(field, 2, 2, LoopPlanes::all);
  EXPECT_NEAR(all[0][0], loops.plaquette, tolerance);
  EXPECT_NEAR(all[0][1], loops.rectangle, tolerance);
  EXPECT_NEAR(all[1][0], loops.rectangle, tolerance);
  EXPECT_NEAR(wilson_loops(field, 1, 1, LoopPlanes::temporal)[0][0], loops.plaquette_temporal, tolerance);
  EXPECT_NEAR(wilson_loops(field, 1, 1, LoopPlanes::spatial)[0][0], loops.plaquette_spatial, tolerance);
  const auto V = reference::gauge_transformed(U, test::random_transformation(extents, 52));
  const Loops a = wilson_loops(field, 3, 5), b = wilson_loops(test::to_product(lattice, V), 3, 5);
  // Smeared spatial links transform like thin ones.
  const ApeParams ape{0.5, 2, true, Su3Projection::maximal_trace};
  const Loops c = wilson_loops(ape_smear(field, ape), 3, 5);
  const Loops d = wilson_loops(ape_smear(test::to_product(lattice, V), ape), 3, 5);
  for (size_t R = 0; R < 3; ++R)
    for (size_t T = 0; T < 5; ++T) {
      EXPECT_NEAR(a[R][T], b[R][T], tolerance);
      EXPECT_NEAR(c[R][T], d[R][T], 1e-13);  // the projection stops at 1e-15
      EXPECT_GT(std::abs(c[R][T] - a[R][T]), 1e-6);
    }
}

TEST(WilsonLoops, do_not_depend_on_lanes_and_threads) {
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{6, 2, 12, 4}}) {
    const auto U = test::random_gauge(extents, 32);
    const Loops expected = wilson_loops(test::to_product(make_lattice(extents), U, 1), 3, 3, LoopPlanes::all);
    for (const int lanes : {1, 4, 8, 16})
      for (const int count : {1, 3}) {
        const int before = thread_count();
        set_thread_count(count);
        EXPECT_EQ(wilson_loops(test::to_product(make_lattice(extents), U, lanes), 3, 3, LoopPlanes::all),
                  expected)
            << lanes << " lanes, " << count << " threads";
        set_thread_count(before);
      }
  }
}

TEST(WilsonLoops, refuse_what_is_no_loop) {
  const GaugeField U(make_lattice({2, 2, 2, 2}));
  EXPECT_THROW(wilson_loops(U, 0, 1), BadArgument);
  EXPECT_THROW(loop_planes_of("timelike"), BadArgument);
  for (const auto& row : wilson_loops(U, 2, 2))
    for (const double w : row) EXPECT_EQ(w, 1.0);  // the links are unit links
}

}  // namespace in_test_wilson_loops
}  // namespace trellis
