/// Energy density, topological charge and gradient flow agree with the reference, gold numbers and MetaQCD.
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
namespace in_test_gauge_flow {

TEST(GaugeFlow, energy_and_charge_equal_the_reference) {
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{2, 6, 4, 2}}) {
    const auto U = test::random_gauge(extents, 81, 0.7);
    const GaugeField field = test::to_product(make_lattice(extents), U);
    EXPECT_LT(test::relative_error(energy_density_clover(field), reference::energy_density_clover(U)),
              test::rounding(50));
    EXPECT_LT(test::relative_error(energy_density_plaquette(field), reference::energy_density_plaquette(U)),
              test::rounding(200));
    using Definition = ChargeDefinition;
    const double tolerance = test::rounding(5) * double(U.volume());  // order-one densities cancel in the sum
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
  ASSERT_EQ(history.size(), 4u);  // these are 0, 5, 10, and the 13th step, which is shorter
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

/// The error estimate is of third order in the step: it belongs to a second-order step.
TEST(GaugeFlow, error_estimate_is_of_third_order) {
  const Coord extents{4, 4, 4, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 85, 0.6));
  GradientFlow flow(U);
  const double coarse = flow.step_with_error(0.02);
  flow.undo_step();
  EXPECT_EQ(flow.time(), 0.0);
  const double fine = flow.step_with_error(0.01);
  EXPECT_GT(coarse / fine, 6.5);
  EXPECT_LT(coarse / fine, 9.5);
  GradientFlow plain(U);
  plain.step(0.01);
  EXPECT_EQ(plaquette(plain.field()), plaquette(flow.field()));  // the step without the estimate is the same
  flow.undo_step();
  EXPECT_EQ(plaquette(U), plaquette(flow.field()));
  EXPECT_THROW(flow.undo_step(), BadArgument);
}

TEST(GaugeFlow, adaptive_steps_reach_the_exact_flow_of_gold) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::field_F4();
  const auto& half = test::gold("flow.exact.t0.5.F4");
  const auto& one = test::gold("flow.exact.t1.F4");
  double last_error = 1;
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    AdaptiveFlow flow(test::to_product(make_lattice(U.extents), U), 0.0, {tolerance, 0.01, 0.2});
    flow.advance(0.5);
    EXPECT_EQ(flow.time(), 0.5);
    const double error =
        test::relative_error(energy_density_clover(flow.field()), half.at("E_clover").get<double>());
    EXPECT_LT(error, 10 * tolerance);
    EXPECT_LT(error, last_error / 5);
    last_error = error;
    flow.advance(1.0);
    EXPECT_LT(test::relative_error(energy_density_clover(flow.field()), one.at("E_clover").get<double>()),
              10 * tolerance);
    EXPECT_NEAR(topological_charge(flow.field(), ChargeDefinition::clover), one.at("Q_clover").get<double>(),
                10 * tolerance);
  }
}

TEST(GaugeFlow, adaptive_steps_of_the_symanzik_flow) {
  const Coord extents{4, 4, 4, 4};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 86, 0.6));
  const double expected = flow_history(U, 0.4, 0.0025, 1000, -1.0 / 12).back().energy_clover;
  AdaptiveFlow flow(U, -1.0 / 12, {1e-6, 0.1, 0.2});
  flow.advance(0.4);
  EXPECT_GT(flow.repeated_steps(), 0);  // the first step was too long
  EXPECT_LT(test::relative_error(energy_density_clover(flow.field()), expected), 1e-5);
  EXPECT_THROW(flow.advance(0.3), BadArgument);
  EXPECT_THROW(AdaptiveFlow(U, 0.0, {0.0, 0.01, 0.2}), BadArgument);
}

TEST(GaugeFlow, charge_of_metaqcd) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::read_text_gauge(test::data_file("metaqcd/testconf.txt"), {4, 4, 4, 4});
  const GaugeField field = test::to_product(make_lattice(U.extents), U);
  EXPECT_NEAR(topological_charge(field, ChargeDefinition::clover), -0.027164585971545994, 1e-12);
  EXPECT_NEAR(topological_charge(field, ChargeDefinition::plaquette), -0.2730960126400261, 1e-12);
}

}  // namespace in_test_gauge_flow
}  // namespace trellis
