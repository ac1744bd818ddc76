// timeout: 600
/// Reference loops, gauge action and force, stout and APE smearing, flow and charge agree with other
/// programs.
#include <gtest/gtest.h>

#include "reference/field_strength.hpp"
#include "reference/flow.hpp"
#include "reference/loops.hpp"
#include "reference/smearing.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis::reference {
namespace in_test_reference_gauge {

using test::relative_error;
using test::rounding;

void expect_loops(const Gauge& U, const nlohmann::json& expected, double tolerance) {
  const PlaquetteMeans P = plaquette(U);
  EXPECT_NEAR(P.all, expected.at("plaquette").get<double>(), tolerance);
  EXPECT_NEAR(P.spatial, expected.at("plaquette_spatial").get<double>(), tolerance);
  EXPECT_NEAR(P.temporal, expected.at("plaquette_temporal").get<double>(), tolerance);
  EXPECT_NEAR(rectangle(U), expected.at("rectangle_1x2").get<double>(), tolerance);
  EXPECT_NEAR(link_trace(U), expected.at("link_trace").get<double>(), tolerance);
  for (int mu = 0; mu < Nd; ++mu) {
    const std::string key = std::string("polyakov_") + "xyzt"[mu];
    if (!expected.contains(key)) continue;
    EXPECT_LT(std::abs(polyakov_loop(U, mu) - test::gold_complex(expected.at(key))), tolerance) << key;
  }
}

TEST(ReferenceGauge, unit_field) {
  const Gauge U = unit_gauge({2, 4, 6, 2});
  EXPECT_EQ(plaquette(U).all, 1.0);
  EXPECT_EQ(rectangle(U), 1.0);
  EXPECT_EQ(link_trace(U), 1.0);
  EXPECT_EQ(polyakov_loop(U), 1.0);
  EXPECT_EQ(unitarity_violation(U), 0.0);
  EXPECT_EQ(gauge_action(U, 6.0, -0.331), 0.0);
  EXPECT_EQ(energy_density_clover(U), 0.0);
}

TEST(ReferenceGauge, exponential_of_a_diagonal_and_its_inverse) {
  ColorMatrix<double> A = zero_matrix<double>();
  const double angle[3] = {0.3, -12.5, 7.0};
  for (int i = 0; i < Nc; ++i) A.e[i][i] = {0.1 * i, angle[i]};
  const ColorMatrix<double> E = exponential(A);
  for (int i = 0; i < Nc; ++i) {
    const std::complex<double> z = std::exp(std::complex<double>(0.1 * i, angle[i]));
    EXPECT_LT(std::abs(std::complex<double>(E.e[i][i].re, E.e[i][i].im) - z), rounding(500));
  }
  test::Random random(3);
  const ColorMatrix<double> X = traceless_antihermitian(test::random_matrix(random));
  EXPECT_LT(test::largest_difference(exponential(X) * exponential(-1.0 * X), identity_matrix<double>()),
            rounding(50));
}

TEST(ReferenceGauge, loops_are_gauge_invariant) {
  const Gauge U = test::random_gauge({4, 2, 2, 6}, 21);
  const Gauge V = gauge_transformed(U, test::random_transformation(U.extents, 22));
  EXPECT_LT(unitarity_violation(V), rounding(60));
  EXPECT_NEAR(plaquette(U).all, plaquette(V).all, rounding(50));
  EXPECT_NEAR(plaquette(U).temporal, plaquette(V).temporal, rounding(50));
  EXPECT_NEAR(rectangle(U), rectangle(V), rounding(50));
  for (int mu = 0; mu < Nd; ++mu)
    EXPECT_LT(std::abs(polyakov_loop(U, mu) - polyakov_loop(V, mu)), rounding(100));
  for (const auto definition :
       {ChargeDefinition::plaquette, ChargeDefinition::clover, ChargeDefinition::improved})
    EXPECT_NEAR(topological_charge(U, definition), topological_charge(V, definition), rounding(10000));
}

TEST(ReferenceGauge, force_is_the_derivative_of_the_action) {
  const Gauge U = test::random_gauge({2, 4, 2, 2}, 23);
  const auto X = test::hash_direction(U.extents);
  for (const double c1 : {0.0, -1.0 / 12, -1.4088}) {
    const double h = 1e-4;
    auto action_at = [&](double t) {
      Gauge V = U;
      for (size_t i = 0; i < V.links.size(); ++i) V.links[i] = exponential(t * X[i]) * U.links[i];
      return gauge_action(V, 5.5, c1);
    };
    const double numeric =
        (8 * (action_at(h) - action_at(-h)) - (action_at(2 * h) - action_at(-2 * h))) / (12 * h);
    const auto F = gauge_force(U, 5.5, c1);
    double analytic = 0;
    for (size_t i = 0; i < F.size(); ++i) analytic -= 2 * trace(F[i] * X[i]).re;
    // The difference has an error of order h^4, and rounding of the action is divided by h.
    EXPECT_NEAR(analytic, numeric, rounding(100) * std::abs(action_at(0)) / h) << "c1 = " << c1;
  }
}

TEST(ReferenceGauge, smearing_is_gauge_covariant) {
  const Gauge U = test::random_gauge({2, 4, 2, 4}, 24, 1.0);
  const auto g = test::random_transformation(U.extents, 25);
  const Gauge V = gauge_transformed(U, g);
  auto expect_equal = [](const Gauge& a, const Gauge& b, double tolerance) {
    for (size_t i = 0; i < a.links.size(); ++i)
      EXPECT_LT(test::largest_difference(a.links[i], b.links[i]), tolerance) << "link " << i;
  };
  expect_equal(stout_smeared(V, isotropic_stout(0.12), 2),
               gauge_transformed(stout_smeared(U, isotropic_stout(0.12), 2), g), rounding(500));
  expect_equal(ape_smeared(V, 0.5, 1, true), gauge_transformed(ape_smeared(U, 0.5, 1, true), g), 1e-12);
  const Gauge spatial = stout_smeared(U, spatial_stout(0.1));
  for (int64_t x = 0; x < U.volume(); ++x)
    EXPECT_LT(test::largest_difference(spatial.link(x, 3), U.link(x, 3)), rounding(10));
}

TEST(ReferenceGauge, nearest_su3_is_su3_and_stationary) {
  test::Random random(26);
  for (int n = 0; n < 20; ++n) {
    const ColorMatrix<double> W = test::random_su3(random);
    const ColorMatrix<double> scaled = 1.7 * W;
    EXPECT_LT(test::largest_difference(nearest_su3(scaled), W), 1e-12);
    const ColorMatrix<double> A = W + 0.3 * test::random_matrix(random), N = nearest_su3(A);
    Gauge one = unit_gauge({2, 2, 2, 2});
    one.links[0] = N;
    EXPECT_LT(unitarity_violation(one), rounding(2000));
    // It is stationary: N A^dagger has no traceless anti-hermitian part, and no other SU(3) matrix comes
    // closer.
    EXPECT_LT(test::largest_difference(traceless_antihermitian(mul_dagger(N, A)), zero_matrix<double>()),
              1e-12);
    for (int k = 0; k < 20; ++k)
      EXPECT_GT(real_trace_mul_dagger(N, A), real_trace_mul_dagger(test::random_su3(random) * N, A));
  }
}

// The tests from here on compare with other programs.

TEST(ReferenceGauge, loops_of_F4_and_F8) {
  TRELLIS_NEEDS_DATA();
  expect_loops(test::field_F4(), test::gold("gauge.loops.F4"), 1e-13);
  expect_loops(test::field_F8(), test::gold("gauge.loops.F8"), 1e-13);
}

TEST(ReferenceGauge, loops_of_chromas_weak_field) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_A();
  const PlaquetteMeans P = plaquette(U);
  EXPECT_NEAR(P.all, 0.9948041322667, 1e-13);
  EXPECT_NEAR(P.spatial, 0.994798578341303, 1e-13);
  EXPECT_NEAR(P.temporal, 0.994809686192096, 1e-13);
  EXPECT_NEAR(link_trace(U), 0.379449348715193, 1e-13);
  const std::complex<double> L = polyakov_loop(U);
  EXPECT_NEAR(L.real(), 0.878769500914, 1e-12);
  // The data's README prints -.009913861037; a plain NumPy product of the same file gives -.0099138611365691.
  EXPECT_NEAR(L.imag(), -0.0099138611365691, 1e-14);
  EXPECT_NEAR(L.imag(), -0.009913861037, 1e-10);
}

TEST(ReferenceGauge, loops_of_analysistoolbox) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::read_lime_gauge(test::data_file("analysistoolbox/ildg.l8t4b3360"), {8, 8, 8, 4});
  const PlaquetteMeans P = plaquette(U);
  EXPECT_NEAR(P.all, 0.503866446949594, 1e-13);
  EXPECT_NEAR(P.spatial, 0.502524597593524, 1e-13);
  EXPECT_NEAR(P.temporal, 0.505208296305664, 1e-13);
  EXPECT_NEAR(link_trace(U), 0.005406083857887, 1e-13);
  EXPECT_NEAR(rectangle(U), 0.261209514718, 1e-12);
  EXPECT_LT(std::abs(polyakov_loop(U) - std::complex<double>(0.116356236076, -0.010979251292)), 1e-12);
}

TEST(ReferenceGauge, charge_of_metaqcd) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::read_text_gauge(test::data_file("metaqcd/testconf.txt"), {4, 4, 4, 4});
  EXPECT_NEAR(plaquette(U).all, 0.587818337847024, 1e-13);
  EXPECT_NEAR(link_trace(U), 0.026359245606164, 1e-13);
  const std::complex<double> three_L{0.5255246068616176, -0.15140850971249734};
  EXPECT_LT(std::abs(3.0 * polyakov_loop(U) - three_L), 1e-13);
  EXPECT_NEAR(topological_charge(U, ChargeDefinition::clover), -0.027164585971545994, 1e-12);
  EXPECT_NEAR(topological_charge(U, ChargeDefinition::plaquette), -0.2730960126400261, 1e-12);
}

TEST(ReferenceGauge, hash_direction_of_gold) {
  TRELLIS_NEEDS_DATA();
  EXPECT_EQ(test::hash(0), 125198284u);
  EXPECT_EQ(test::hash(12345), 1657286390u);
  EXPECT_EQ(test::hash(1000003), 1843147971u);
  const auto X = test::hash_direction({4, 4, 4, 4});
  const auto& expected = test::gold("gauge.direction.F4");
  double sum = 0;
  for (const auto& x : X) sum += real_trace_mul_dagger(x, x);
  EXPECT_LT(relative_error(sum, expected.at("sum_tr_XdagX").get<double>()), 1e-13);
  const auto first = test::gold_complex_list(expected.at("X_mu0_site0_row0"));
  const auto last = test::gold_complex_list(expected.at("X_mu3_lastsite_row2"));
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(X.front().e[0][j].re, first[j].real(), 1e-15);
    EXPECT_NEAR(X.front().e[0][j].im, first[j].imag(), 1e-15);
    EXPECT_NEAR(X.back().e[2][j].re, last[j].real(), 1e-15);
    EXPECT_NEAR(X.back().e[2][j].im, last[j].imag(), 1e-15);
  }
}

TEST(ReferenceGauge, actions_and_forces_of_gold) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  const auto X = test::hash_direction(U.extents);
  for (const char* name : {"wilson", "symanzik", "iwasaki", "dbw2"}) {
    const std::string id = std::string("gauge.action.") + name + ".F4";
    const double c1 = test::gold_parameters(id).at("c1").get<double>();
    const auto& expected = test::gold(id);
    const auto F = gauge_force(U, 1.0, c1);
    double size = 0, slope = 0;
    for (size_t i = 0; i < F.size(); ++i) {
      size += real_trace_mul_dagger(F[i], F[i]);
      slope -= 2 * trace(F[i] * X[i]).re;
    }
    EXPECT_LT(relative_error(gauge_action(U, 1.0, c1), expected.at("S").get<double>()), 1e-12) << name;
    EXPECT_LT(relative_error(size, expected.at("force_sum_tr_FdagF").get<double>()), 1e-12) << name;
    EXPECT_LT(relative_error(slope, expected.at("dSdt_along_X").get<double>()), 1e-11) << name;
  }
}

TEST(ReferenceGauge, stout_of_gold) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  for (const auto& [rho, levels, id] : {std::tuple{0.15, 1, "stout.rho0.15.n1.F4"},
                                        {0.15, 3, "stout.rho0.15.n3.F4"},
                                        {0.1, 4, "stout.rho0.1.n4.F4"}})
    expect_loops(stout_smeared(U, isotropic_stout(rho), levels), test::gold(id), 1e-12);
}

void expect_flow_observables(const Gauge& V, const nlohmann::json& expected) {
  EXPECT_LT(relative_error(energy_density_clover(V), expected.at("E_clover").get<double>()), 1e-11);
  EXPECT_LT(relative_error(energy_density_clover(V, true), expected.at("E_clover_trace_kept").get<double>()),
            1e-11);
  EXPECT_LT(relative_error(energy_density_plaquette(V), expected.at("E_plaquette").get<double>()), 1e-11);
  EXPECT_NEAR(topological_charge(V, ChargeDefinition::clover), expected.at("Q_clover").get<double>(), 1e-12);
  EXPECT_NEAR(topological_charge(V, ChargeDefinition::improved), expected.at("Q_improved").get<double>(),
              1e-12);
}

TEST(ReferenceGauge, flow_of_gold) {
  TRELLIS_NEEDS_DATA();
  Gauge V = test::field_F4();
  expect_flow_observables(V, test::gold("flow.t0.F4"));
  for (int step = 1; step <= 50; ++step) {
    V = wilson_flow_step(V, 0.02);
    if (step == 25) expect_flow_observables(V, test::gold("flow.rk3eps0.02.t0.5.F4"));
  }
  expect_flow_observables(V, test::gold("flow.rk3eps0.02.t1.F4"));
}

}  // namespace in_test_reference_gauge
}  // namespace trellis::reference
