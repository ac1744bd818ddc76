// timeout: 600
/// Meson correlators of solved propagators have gauge invariance, symmetries, and the numbers of gold.json.
#include <gtest/gtest.h>

#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_mesons {

const SolverSpec accurate = EvenOddSpec{CgSpec{.tolerance = 1e-13, .max_iterations = 5000}};

WilsonMatrixPtr wilson(const LatticePtr& lattice, const reference::Gauge& U, double mass, double csw,
                       double mu = 0) {
  WilsonParams p;
  p.mass = mass;
  p.csw_spatial = p.csw_temporal = csw;
  p.twisted_mass = mu;
  return std::make_shared<WilsonMatrix>(test::to_product(lattice, U), p, KernelChoice{});
}

TEST(Mesons, are_gauge_invariant_with_smeared_sources_and_sinks) {
  const Coord extents{4, 2, 4, 6}, at{1, 1, 0, 4};
  const auto lattice = make_lattice(extents);
  const auto U = test::random_gauge(extents, 51, 0.8);
  const auto rotated = reference::gauge_transformed(U, test::random_transformation(extents, 52));
  std::vector<std::complex<double>> first;
  for (const auto& links : {U, rotated}) {
    const GaugeField field = test::to_product(lattice, links);
    const Source source = smeared(point_source(lattice, at), field, {2.0, 4});
    const Propagator S =
        sink_smeared(solve_propagator(wilson(lattice, links, 0.3, 1.0), accurate, source), field, {1.0, 3});
    const auto C = all_meson_correlators(S, S, {{0, 0, 0}, {1, 0, 0}});
    if (first.empty()) first = C.values;
    const double scale = std::abs(C.at(16 * 15 + 15, 0, 3));
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_LT(std::abs(C.values[i] - first[i]), 1e-9 * scale + 1e-9 * std::abs(first[i])) << i;
  }
}

TEST(Mesons, diagonal_channels_are_positive_at_heavy_mass_and_the_pion_always) {
  const Coord extents{4, 4, 4, 8};
  const auto lattice = make_lattice(extents);
  const auto U = test::random_gauge(extents, 53, 0.1);
  const Propagator S =
      solve_propagator(wilson(lattice, U, 1.0, 0), accurate, point_source(lattice, {0, 0, 0, 0}));
  const auto C = all_meson_correlators(S, S);
  for (const char* channel :
       {"gamma5", "gamma_t gamma5", "gamma_x", "gamma_y", "gamma_z", "gamma_t gamma_x"}) {
    const auto one = meson_correlator(S, S, channel, channel);
    for (int t = 1; t < 4; ++t) EXPECT_GT(one.at(0, 0, t).real(), 0.0) << channel << " t = " << t;
  }
  // The rows of all pairs are the pairs.
  const auto rho = meson_correlator(S, S, "gamma_x", "gamma_y");
  for (int t = 0; t < 8; ++t) EXPECT_EQ(C.at(16 * 1 + 2, 0, t), rho.at(0, 0, t));
}

void expect_pion(const std::string& id, const reference::Gauge& U, double csw, double mu,
                 const std::string& key = "pion") {
  const auto lattice = make_lattice(U.extents);
  const double mass = kappa_to_mass(0.13);
  const Source source = point_source(lattice, {0, 0, 0, 0});
  const Propagator S = solve_propagator(wilson(lattice, U, mass, csw, mu), accurate, source);
  ASSERT_TRUE(S.report().converged) << S.report().summary();
  const auto expected = test::gold(id).at(key).get<std::vector<double>>();
  const auto C = meson_correlator(S, S, "gamma5", "gamma5");
  ASSERT_EQ(C.times, int(expected.size()));
  const auto norm = propagator_norm(S);
  for (int t = 0; t < C.times; ++t) {
    EXPECT_LT(test::relative_error(C.at(0, 0, t), expected[size_t(t)]), 1e-10) << id << " t = " << t;
    EXPECT_LT(test::relative_error(norm[size_t(t)], expected[size_t(t)]), 1e-10) << id << " t = " << t;
  }
}

TEST(Mesons, pions_of_gold_on_F4) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::field_F4();
  expect_pion("wilson.k0.13.c0.F4", U, 0, 0);
  expect_pion("wilson.k0.13.c1.F4", U, 1.0, 0);
  expect_pion("wilson.k0.13.c1.7.F4", U, 1.7, 0);
  expect_pion("twisted.k0.13.mu0.05.F4", U, 0, 0.05);
  expect_pion("twisted.k0.13.mu0.05.F4", U, 0, -0.05, "pion_opposite_mu");
}

TEST(Mesons, pions_of_gold_on_F8) {
  TRELLIS_NEEDS_DATA();
  const auto U = test::field_F8();
  expect_pion("wilson.k0.13.c0.F8", U, 0, 0);
  expect_pion("wilson.k0.13.c1.F8", U, 1.0, 0);
  expect_pion("wilson.k0.13.c1.7.F8", U, 1.7, 0);
  expect_pion("twisted.k0.13.mu0.05.F8", U, 0, 0.05);
}

TEST(Mesons, free_pions_of_gold) {
  TRELLIS_NEEDS_DATA();
  const auto U = reference::unit_gauge({4, 4, 4, 8});
  expect_pion("free.wilson.k0.13.mu0", U, 0, 0);
  expect_pion("free.twisted.k0.13.mu0.05", U, 0, 0.05);
}

/// Free Wilson quarks at kappa .11 go point to point (numbers of an independent program).
TEST(Mesons, free_propagator) {
  const double expected[] = {6.957669089109e-01, 3.756065405275e-02, 8.393330436584e-03, 3.344679174258e-03,
                             2.301706917632e-03};
  const auto lattice = make_lattice({4, 4, 4, 8});
  const Propagator S =
      solve_propagator(wilson(lattice, reference::unit_gauge(lattice->extents()), kappa_to_mass(0.11), 0),
                       accurate, point_source(lattice, {0, 0, 0, 0}));
  const auto norm = propagator_norm(S);
  for (size_t t = 0; t < 5; ++t) EXPECT_LT(test::relative_error(norm[t], expected[t]), 1e-12) << "t = " << t;
}

}  // namespace in_test_mesons
}  // namespace trellis
