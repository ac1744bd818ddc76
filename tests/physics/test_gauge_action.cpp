/// Gauge actions and forces agree with the reference and gold numbers; the force is the derivative of the
/// action.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/loops.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/gauge/action.hpp"

namespace trellis {
namespace in_test_gauge_action {

const GaugeAction actions[] = {GaugeAction::wilson(5.5), GaugeAction::symanzik(4.2),
                               GaugeAction::iwasaki(2.6), GaugeAction::dbw2(0.9)};

TEST(GaugeAction, action_and_force_equal_the_reference) {
  for (const Coord& extents : {Coord{4, 4, 4, 8}, Coord{2, 4, 2, 6}, Coord{2, 2, 2, 2}}) {
    const auto U = test::random_gauge(extents, 71);
    const GaugeField field = test::to_product(make_lattice(extents), U);
    for (const GaugeAction& S : actions) {
      const double expected = reference::gauge_action(U, S.beta, S.c1);
      EXPECT_LT(test::relative_error(action(S, field), expected), test::rounding(100));
      const auto F = reference::gauge_force(U, S.beta, S.c1);
      const AlgebraField found = force(S, field);
      double worst = 0;
      for (size_t i = 0; i < F.size(); ++i) {
        const std::array<double, 8> p = found.components(site_coord(int64_t(i / 4), extents), int(i % 4));
        double raw[8];
        std::memcpy(raw, p.data(), sizeof(raw));
        worst = std::max(worst, test::largest_difference(algebra_element(raw), F[i]));
      }
      // There are 24 loops of up to 6 matrices, with weights up to beta (1 + 8 |c1|) / 6.
      EXPECT_LT(worst, test::rounding(200) * S.beta * (1 + 8 * std::abs(S.c1))) << "c1 " << S.c1;
    }
  }
}

TEST(GaugeAction, force_is_the_derivative) {
  const Coord extents{4, 2, 4, 4};
  const auto U = test::random_gauge(extents, 72);
  const auto X = test::hash_direction(extents);
  const LatticePtr lattice = make_lattice(extents);
  const GaugeField field = test::to_product(lattice, U);
  for (const GaugeAction& S : actions) {
    auto action_at = [&](double t) {
      auto V = U;
      for (size_t i = 0; i < V.links.size(); ++i) V.links[i] = exponential(t * X[i]) * U.links[i];
      return action(S, test::to_product(lattice, V));
    };
    const double h = 1e-3;
    const double numeric =
        (8 * (action_at(h) - action_at(-h)) - (action_at(2 * h) - action_at(-2 * h))) / (12 * h);
    const double analytic = dot(force(S, field), test::hash_components(field));
    // The difference quotient errs by O(h^4), and rounding of the action is divided by h.
    EXPECT_NEAR(analytic, numeric, 1e-8 * std::abs(numeric) + test::rounding(100) * action_at(0) / h)
        << "c1 " << S.c1;
  }
}

TEST(GaugeAction, forces_add_up) {
  const Coord extents{4, 4, 2, 2};
  const GaugeField field = test::to_product(make_lattice(extents), test::random_gauge(extents, 73));
  AlgebraField sum(field);
  add_force(sum, actions[1], field, 0.5);
  add_force(sum, actions[1], field, -2.5);
  const AlgebraField F = force(actions[1], field);
  EXPECT_LT(test::relative_error(dot(sum, sum), 4 * dot(F, F)), test::rounding(100));
  EXPECT_LT(dot(sum, F), 0.0);
  const GaugeField unit(make_lattice(extents));
  EXPECT_LT(dot(force(actions[2], unit), force(actions[2], unit)), 1e-25);
  EXPECT_NEAR(action(actions[2], unit), 0.0, 1e-9);
}

TEST(GaugeAction, actions_and_forces_of_gold) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::field_F4();
  const GaugeField field = test::to_product(make_lattice(U.extents), U);
  const AlgebraField X = test::hash_components(field);
  for (const auto& [name, S] : {std::pair{"wilson", GaugeAction::wilson(1)},
                                {"symanzik", GaugeAction::symanzik(1)},
                                {"iwasaki", GaugeAction::iwasaki(1)},
                                {"dbw2", GaugeAction::dbw2(1)}}) {
    const auto& expected = test::gold(std::string("gauge.action.") + name + ".F4");
    const AlgebraField F = force(S, field);
    EXPECT_LT(test::relative_error(action(S, field), expected.at("S").get<double>()), 1e-12) << name;
    EXPECT_LT(test::relative_error(dot(F, F) / 2, expected.at("force_sum_tr_FdagF").get<double>()), 1e-12)
        << name;
    EXPECT_LT(test::relative_error(dot(F, X), expected.at("dSdt_along_X").get<double>()), 1e-11) << name;
  }
}

}  // namespace in_test_gauge_action
}  // namespace trellis
