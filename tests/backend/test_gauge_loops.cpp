/// Loops equal the reference, and have the same bits for every lane count and thread count.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/loops.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/gauge/loops.hpp"

namespace trellis {
namespace in_test_gauge_loops {

const Coord lattices[] = {{4, 4, 4, 8}, {6, 4, 2, 8}, {2, 2, 2, 2}, {2, 8, 2, 4}, {12, 2, 4, 6}};

void expect_same_bits(const GaugeLoops& a, const GaugeLoops& b, const std::string& where) {
  EXPECT_EQ(a.plaquette, b.plaquette) << where;
  EXPECT_EQ(a.plaquette_spatial, b.plaquette_spatial) << where;
  EXPECT_EQ(a.plaquette_temporal, b.plaquette_temporal) << where;
  EXPECT_EQ(a.rectangle, b.rectangle) << where;
  EXPECT_EQ(a.link_trace, b.link_trace) << where;
  EXPECT_EQ(a.polyakov_loop, b.polyakov_loop) << where;
  EXPECT_EQ(a.unitarity_violation, b.unitarity_violation) << where;
}

TEST(GaugeLoops, equal_the_reference) {
  for (const Coord& extents : lattices) {
    const auto U = test::random_gauge(extents, 31);
    const GaugeLoops found = measure_loops(test::to_product(make_lattice(extents), U));
    const reference::PlaquetteMeans P = reference::plaquette(U);
    const double tolerance = test::rounding(20);  // means of numbers below 1, a dozen roundings each
    EXPECT_NEAR(found.plaquette, P.all, tolerance);
    EXPECT_NEAR(found.plaquette_spatial, P.spatial, tolerance);
    EXPECT_NEAR(found.plaquette_temporal, P.temporal, tolerance);
    EXPECT_NEAR(found.rectangle, reference::rectangle(U), tolerance);
    EXPECT_NEAR(found.link_trace, reference::link_trace(U), tolerance);
    EXPECT_LT(std::abs(found.polyakov_loop - reference::polyakov_loop(U)), tolerance);
    EXPECT_NEAR(found.unitarity_violation, reference::unitarity_violation(U), tolerance);
    for (int mu = 0; mu < 3; ++mu)
      EXPECT_LT(std::abs(polyakov_loop(test::to_product(make_lattice(extents), U), mu) -
                         reference::polyakov_loop(U, mu)),
                tolerance);
  }
}

TEST(GaugeLoops, do_not_depend_on_lanes_and_threads) {
  const int threads_before = thread_count();
  for (const Coord& extents : lattices) {
    const auto U = test::random_gauge(extents, 32);
    const LatticePtr lattice = make_lattice(extents);
    set_thread_count(1);
    const GaugeLoops expected = measure_loops(test::to_product(lattice, U, 1));
    for (const int threads : {1, 2, 3})
      for (const int lanes : {1, 4, 8, 16}) {
        set_thread_count(threads);
        expect_same_bits(measure_loops(test::to_product(lattice, U, lanes)), expected,
                         message(to_string(extents), " lanes ", lanes, " threads ", threads));
      }
  }
  set_thread_count(threads_before);
}

TEST(GaugeLoops, of_the_unit_field_are_one) {
  const GaugeLoops one = measure_loops(GaugeField(make_lattice({4, 4, 2, 6})));
  EXPECT_DOUBLE_EQ(one.plaquette, 1.0);
  EXPECT_DOUBLE_EQ(one.rectangle, 1.0);
  EXPECT_DOUBLE_EQ(one.link_trace, 1.0);
  EXPECT_DOUBLE_EQ(one.polyakov_loop.real(), 1.0);
  EXPECT_EQ(one.unitarity_violation, 0.0);
}

TEST(GaugeLoops, see_one_bad_link) {
  const Coord extents{4, 4, 4, 4};
  for (const int lanes : {1, 4, 8, 16}) {
    GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 33), lanes);
    Link bad = U.link({3, 1, 2, 1}, 2);
    for (auto& entry : bad) entry *= 1.0 + 1e-6;
    U.set_link({3, 1, 2, 1}, 2, bad);
    EXPECT_NEAR(unitarity_violation(U), 3e-6, 1e-11);  // det grows by the third power
    bad[4] = std::numeric_limits<double>::quiet_NaN();
    U.set_link({3, 1, 2, 1}, 2, bad);
    EXPECT_TRUE(std::isnan(plaquette(U)));
    EXPECT_TRUE(std::isinf(unitarity_violation(U)));
  }
}

}  // namespace in_test_gauge_loops
}  // namespace trellis
