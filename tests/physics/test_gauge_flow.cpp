/// Energy density, topological charge and gradient flow: against the reference, gold numbers and MetaQCD.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/flow.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/loops.hpp"

namespace trellis {
namespace {

TEST(GaugeFlow, energy_and_charge_equal_the_reference) {
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{2, 6, 4, 2}}) {
    const auto U = test::random_gauge(extents, 81, 0.7);
    const GaugeField field = test::to_product(make_lattice(extents), U);
    EXPECT_LT(test::relative_error(energy_density_clover(field), reference::energy_density_clover(U)),
              test::rounding(50));
    EXPECT_LT(test::relative_error(energy_density_plaquette(field), reference::energy_density_plaquette(U)),
              test::rounding(200));
    using Definition = ChargeDefinition;
    const double tolerance = test::rounding(5) * double(U.volume());  // order-one densities that cancel
    EXPECT_NEAR(topological_charge(field, Definition::clover),
                reference::topological_charge(U, reference::ChargeDefinition::clover), tolerance);
    EXPECT_NEAR(topological_charge(field, Definition::plaquette),
                reference::topological_charge(U, reference::ChargeDefinition::plaquette), tolerance);
    EXPECT_NEAR(topological_charge(field, Definition::improved),
                reference::topological_charge(U, reference::ChargeDefinition::improved), tolerance);
  }
}

TEST(GaugeFlow, a_step_equals_the_reference) {
  const Coord extents{4, 2, 4, 6};
  auto U = test::random_gauge(extents, 82);
  GradientFlow flow(test::to_product(make_lattice(extents), U));
  for (int k = 0; k < 3; ++k) {
    flow.step(0.03);
    U = reference::wilson_flow_step(U, 0.03);
  }
  EXPECT_NEAR(flow.time(), 0.09, 1e-15);
  EXPECT_NEAR(plaquette(flow.field()), plaquette(test::to_product(make_lattice(extents), U)),
              test::rounding(200));
  EXPECT_NEAR(link_trace(flow.field()), link_trace(test::to_product(make_lattice(extents), U)),
              test::rounding(200));
  EXPECT_LT(unitarity_violation(flow.field()), test::rounding(500));
}

/// The integrator is of third order: halving the step divides the error by about eight.
TEST(GaugeFlow, error_falls_with_the_third_power_of_the_step) {
  const Coord extents{4, 4, 4, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 83, 0.6));
  for (const double c1 : {0.0, -1.0 / 12}) {
    auto energy = [&](double epsilon) {
      return flow_history(U, 0.4, epsilon, 1000, c1).back().energy_clover;
    };
    const double exact = energy(0.005), coarse = std::abs(energy(0.04) - exact),
                 fine = std::abs(energy(0.02) - exact);
    EXPECT_GT(coarse / fine, 6.0) << c1;
    EXPECT_LT(coarse / fine, 11.0) << c1;
  }
}

TEST(GaugeFlow, history_and_reference_time) {
  const Coord extents{4, 4, 4, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 84, 0.5));
  const auto history = flow_history(U, 0.25, 0.02, 5);
  ASSERT_EQ(history.size(), 4u);  // 0, 5, 10, and the 13th step, which is shorter
  EXPECT_EQ(history[0].time, 0.0);
  EXPECT_NEAR(history[1].time, 0.1, 1e-14);
  EXPECT_NEAR(history.back().time, 0.25, 1e-14);
  for (size_t i = 1; i < history.size(); ++i)
    EXPECT_LT(history[i].energy_plaquette, history[i - 1].energy_plaquette);
  std::vector<FlowPoint> line;
  for (int i = 0; i < 5; ++i) line.push_back({double(i), i == 0 ? 1.0 : 0.2 / i, 0, 0});  // t^2 E = 0.2 t
  EXPECT_NEAR(flow_time_at(line, 0.3), 1.5, 1e-14);
  EXPECT_TRUE(std::isnan(flow_time_at(line, 2.0)));
  EXPECT_THROW(flow_history(U, 1.0, 0.0), BadArgument);
}

void expect_gold(const GaugeField& V, const nlohmann::json& expected) {
  EXPECT_LT(test::relative_error(energy_density_clover(V), expected.at("E_clover").get<double>()), 1e-11);
  EXPECT_LT(test::relative_error(energy_density_plaquette(V), expected.at("E_plaquette").get<double>()),
            1e-11);
  EXPECT_NEAR(topological_charge(V, ChargeDefinition::clover), expected.at("Q_clover").get<double>(), 1e-12);
  EXPECT_NEAR(topological_charge(V, ChargeDefinition::improved), expected.at("Q_improved").get<double>(),
              1e-12);
}

TEST(GaugeFlow, flow_of_gold) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::field_F4();
  GradientFlow flow(test::to_product(make_lattice(U.extents), U));
  expect_gold(flow.field(), test::gold("flow.t0.F4"));
  for (int step = 1; step <= 50; ++step) {
    flow.step(0.02);
    if (step == 25) expect_gold(flow.field(), test::gold("flow.rk3eps0.02.t0.5.F4"));
  }
  expect_gold(flow.field(), test::gold("flow.rk3eps0.02.t1.F4"));
}

TEST(GaugeFlow, charge_of_metaqcd) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::read_text_gauge(test::data_file("metaqcd/testconf.txt"), {4, 4, 4, 4});
  const GaugeField field = test::to_product(make_lattice(U.extents), U);
  EXPECT_NEAR(topological_charge(field, ChargeDefinition::clover), -0.027164585971545994, 1e-12);
  EXPECT_NEAR(topological_charge(field, ChargeDefinition::plaquette), -0.2730960126400261, 1e-12);
}

}  // namespace
}  // namespace trellis
