// timeout: 600
/// Domain-wall propagators have gold correlators and m_res, by every solver and form, and the free
/// propagator.
#include <gtest/gtest.h>

#include "reference/sources.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/domain_wall_propagator.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"

namespace trellis {
namespace in_test_domain_wall {

void expect_list(const std::vector<double>& found, const nlohmann::json& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t t = 0; t < found.size(); ++t)
    EXPECT_LT(test::relative_error(found[t], expected[t].get<double>()), 1e-9) << what << ", t = " << t;
}

DomainWallParams gold_params(const std::string& id) {
  const auto& p = test::gold_parameters(id);
  DomainWallParams params = test::moebius(p.at("m_f"), p.at("Ls"), p.at("b5"), p.at("c5"));
  params.M5 = p.at("M5");
  return params;
}

void expect_gold(const std::string& id, const reference::Gauge& U) {
  const auto& values = test::gold(id);
  const DomainWallParams params = gold_params(id);
  const auto lattice = make_lattice(U.extents);
  const auto matrix = std::make_shared<DomainWallMatrix>(test::to_product(lattice, U), params);
  DomainWallSolve how;
  how.solver = EvenOddSpec{MixedPrecisionSpec{CgSpec{.tolerance = 2e-12}, Precision::half_precision}};
  how.columns_per_solve = 4;
  const DomainWallPropagator S = solve_domain_wall(matrix, how, point_source(lattice, {0, 0, 0, 0}));
  EXPECT_TRUE(S.quark.report().converged) << S.quark.report().summary();
  ASSERT_EQ(S.quark.report().relative_residual.size(), 12u);
  EXPECT_LE(S.quark.report().largest_residual(), 2e-12);
  const auto pion = propagator_norm(S.quark), midpoint = propagator_norm(*S.midpoint);
  expect_list(pion, values.at("pion"), id + " pion");
  expect_list(midpoint, values.at("midpoint"), id + " midpoint");
  expect_list(residual_mass(S), values.at("m_res_t"), id + " m_res");
  // The contraction code is the same as for every fermion.
  const GammaMatrix gamma5 = gamma_product(15);
  const CorrelatorTable C = meson_correlators(S.quark, S.quark, {{gamma5, gamma5}});
  for (int t = 0; t < C.times; ++t)
    EXPECT_LT(test::relative_error(C.at(0, 0, t).real(), pion[size_t(t)]), 1e-12);
  if (!values.contains("psibarpsi_tr_q_00")) return;
  // The axial Ward identity is sum_t [m_f pion + midpoint] = Re tr q(0, 0).
  double sum = 0, trace = 0;
  for (size_t t = 0; t < pion.size(); ++t) sum += params.mass * pion[t] + midpoint[t];
  const SitePosition origin = S.quark.columns().layout().position({0, 0, 0, 0});
  for (int column = 0; column < 12; ++column) trace += S.quark.columns().get(origin, column, 2 * column);
  EXPECT_LT(test::relative_error(sum, trace), 1e-10) << id;
  EXPECT_LT(test::relative_error(trace, values.at("psibarpsi_tr_q_00").get<double>()), 1e-9);
}

TEST(DomainWallPropagator, correlators_and_m_res_on_F4) {
  TRELLIS_NEEDS_DATA();
  for (const char* id : {"dwf.shamir.M5_1.8.b1.c0.m0.1.Ls4.F4", "dwf.mobius.M5_1.8.b2.c1.m0.1.Ls6.F4",
                         "dwf.shamir.M5_1.8.b1.c0.m0.05.Ls8.F4", "dwf.mobius.M5_1.8.b1.5.c0.5.m0.05.Ls8.F4"})
    expect_gold(id, test::field_F4());
}

TEST(DomainWallPropagator, correlators_and_m_res_on_F8) {
  TRELLIS_NEEDS_DATA();
  expect_gold("dwf.mobius.M5_1.8.b1.5.c0.5.m0.05.Ls8.F8", test::field_F8());
}

/// gold.json's free numbers come from the momentum sum.
TEST(DomainWallPropagator, free_propagator_is_its_momentum_sum) {
  TRELLIS_NEEDS_DATA();
  for (const char* id :
       {"free.dwf.shamir.M5_1.8.b1.c0.m0.05.Ls8", "free.dwf.mobius.M5_1.8.b1.5.c0.5.m0.05.Ls8"})
    expect_gold(id, reference::unit_gauge({4, 4, 4, 8}));
}

TEST(DomainWallPropagator, equals_reference_for_every_form_and_solver) {
  const Coord extents{2, 4, 2, 4};
  const auto lattice = make_lattice(extents);
  const reference::Gauge U = test::random_gauge(extents, 5, 0.7);
  const DomainWallParams params = test::moebius(0.1, 6, 1.5, 0.5);
  const auto matrix = std::make_shared<DomainWallMatrix>(test::to_product(lattice, U), params);
  const Coord at{1, 2, 0, 3};
  const auto expected =
      reference::propagators(reference::DomainWallOperator(U, test::to_reference_params(params)),
                             reference::point_source(extents, at));
  const SolverSpec solvers[] = {CgSpec{.tolerance = 1e-12},
                                MixedPrecisionSpec{CgSpec{.tolerance = 1e-12}, Precision::single_precision},
                                MixedPrecisionSpec{CgSpec{.tolerance = 1e-12}, Precision::half_precision}};
  for (const SolverSpec& method : solvers)
    for (const SolverSpec& solver : {SolverSpec(EvenOddSpec{method, SchurForm::symmetric}),
                                     SolverSpec(EvenOddSpec{method, SchurForm::asymmetric}), method}) {
      DomainWallSolve how{solver, 12, true};
      const DomainWallPropagator S = solve_domain_wall(matrix, how, point_source(lattice, at));
      EXPECT_TRUE(S.quark.report().converged) << S.quark.report().summary();
      EXPECT_GT(S.quark.report().largest_residual(), 0.0);
      for (int column = 0; column < 12; ++column) {
        const size_t c = size_t(column);
        EXPECT_LT(
            test::relative_error(test::to_reference(S.quark.columns(), column), expected.quark.columns[c]),
            1e-10);
        EXPECT_LT(test::relative_error(test::to_reference(S.midpoint->columns(), column),
                                       expected.midpoint.columns[c]),
                  1e-10);
      }
      ASSERT_EQ(S.five.size(), 1u);
    }
}

TEST(DomainWallPropagator, report_tells_the_truth_and_wrong_batches_are_refused) {
  const auto lattice = make_lattice({2, 2, 2, 4});
  const auto U = test::random_gauge({2, 2, 2, 4}, 6);
  const auto matrix =
      std::make_shared<DomainWallMatrix>(test::to_product(lattice, U), test::moebius(0.1, 5, 1.5, 0.5));
  DomainWallSolve how;
  how.solver = EvenOddSpec{CgSpec{.tolerance = 1e-12, .max_iterations = 3}};
  const DomainWallPropagator S = solve_domain_wall(matrix, how, point_source(lattice, {0, 0, 0, 0}));
  EXPECT_FALSE(S.quark.report().converged);
  EXPECT_GT(S.quark.report().largest_residual(), 1e-6);
  EXPECT_FALSE(S.midpoint.has_value());  // Ls is odd
  EXPECT_THROW(residual_mass(S), BadArgument);
  how.columns_per_solve = 5;
  EXPECT_THROW(solve_domain_wall(matrix, how, point_source(lattice, {0, 0, 0, 0})), BadArgument);
}

}  // namespace in_test_domain_wall
}  // namespace trellis
