/// Loops are gauge invariant, and have the published values of other programs' configurations.
#include <gtest/gtest.h>

#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/gauge/loops.hpp"

namespace trellis {
namespace in_test_gauge_loops {

TEST(GaugeLoopsPhysics, loops_are_gauge_invariant) {
  const Coord extents{4, 2, 6, 4};
  const auto U = test::random_gauge(extents, 51);
  const auto V = reference::gauge_transformed(U, test::random_transformation(extents, 52));
  const GaugeLoops a = measure_loops(test::to_product(make_lattice(extents), U));
  const GaugeLoops b = measure_loops(test::to_product(make_lattice(extents), V));
  EXPECT_NEAR(a.plaquette, b.plaquette, test::rounding(50));
  EXPECT_NEAR(a.plaquette_spatial, b.plaquette_spatial, test::rounding(50));
  EXPECT_NEAR(a.rectangle, b.rectangle, test::rounding(50));
  EXPECT_LT(std::abs(a.polyakov_loop - b.polyakov_loop), test::rounding(100));
  EXPECT_GT(std::abs(a.link_trace - b.link_trace), 1e-3);  // the link trace is the one that is not invariant
}

void expect_gold(const reference::Gauge& U, const std::string& id) {
  const GaugeLoops found = measure_loops(test::to_product(make_lattice(U.extents), U));
  const auto& expected = test::gold(id);
  const double tolerance = 1e-13;
  EXPECT_NEAR(found.plaquette, expected.at("plaquette").get<double>(), tolerance);
  EXPECT_NEAR(found.plaquette_spatial, expected.at("plaquette_spatial").get<double>(), tolerance);
  EXPECT_NEAR(found.plaquette_temporal, expected.at("plaquette_temporal").get<double>(), tolerance);
  EXPECT_NEAR(found.rectangle, expected.at("rectangle_1x2").get<double>(), tolerance);
  EXPECT_NEAR(found.link_trace, expected.at("link_trace").get<double>(), tolerance);
  EXPECT_LT(std::abs(found.polyakov_loop - test::gold_complex(expected.at("polyakov_t"))), tolerance);
  EXPECT_LT(found.unitarity_violation, 1e-13);
}

TEST(GaugeLoopsPhysics, quenched_fields_have_the_gold_values) {
  TRELLIS_NEEDS_DATA();
  expect_gold(test::field_F4(), "gauge.loops.F4");
  expect_gold(test::field_F8(), "gauge.loops.F8");
}

TEST(GaugeLoopsPhysics, chromas_weak_field_and_the_finite_temperature_field) {
  TRELLIS_NEEDS_DATA();
  const auto A = test::field_A();
  const GaugeLoops weak = measure_loops(test::to_product(make_lattice(A.extents), A));
  EXPECT_NEAR(weak.plaquette, 0.9948041322667, 1e-13);
  EXPECT_NEAR(weak.plaquette_spatial, 0.994798578341303, 1e-13);
  EXPECT_NEAR(weak.link_trace, 0.379449348715193, 1e-13);
  const auto B = test::read_lime_gauge(test::data_file("analysistoolbox/ildg.l8t4b3360"), {8, 8, 8, 4});
  const GaugeLoops hot = measure_loops(test::to_product(make_lattice(B.extents), B));
  EXPECT_NEAR(hot.plaquette, 0.503866446949594, 1e-13);
  EXPECT_NEAR(hot.rectangle, 0.261209514718, 1e-12);
  EXPECT_LT(std::abs(hot.polyakov_loop - std::complex<double>(0.116356236076, -0.010979251292)), 1e-12);
}

}  // namespace in_test_gauge_loops
}  // namespace trellis
