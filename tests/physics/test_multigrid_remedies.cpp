/// In multigrid things go wrong: vectors depend on each other, coarse matrices are singular, solves are
/// stuck.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_multigrid_remedies {

constexpr Coord extents{4, 4, 4, 4};

GaugeField links(int lanes = 0) {
  return test::to_product(make_lattice(extents), test::random_gauge(extents, 31, 0.3), lanes);
}

WilsonParams clover(double mass) { return {.mass = mass, .csw_spatial = 1.0, .csw_temporal = 1.0}; }

MultigridParams small(int vectors) {
  MultigridParams p;
  p.block = {2, 2, 2, 2};
  p.vectors = vectors;
  p.sweeps = 1;
  return p;
}

SpinorField random_columns(const WilsonOperator& M, int columns, uint64_t seed) {
  SpinorField field = M.make_field(columns);
  for (int j = 0; j < columns; ++j)
    test::to_product(field, test::random_spinors(extents, seed + uint64_t(j)), j);
  return field;
}

/// Returns six vectors: the fourth is the second, the fifth vanishes in one block, the sixth is a sum.
SpinorField dependent_vectors(const WilsonOperator& M) {
  SpinorField vectors = M.make_field(6);
  std::vector<reference::SpinorVector> all;
  for (int j = 0; j < 6; ++j) all.push_back(test::random_spinors(extents, uint64_t(50 + j)));
  all[3] = all[1];
  for (size_t site = 0; site < all[4].size(); ++site) {
    const Coord x = site_coord(int64_t(site), extents);
    const bool is_first_block = x[0] < 2 && x[1] < 2 && x[2] < 2 && x[3] < 2;
    for (int s = 0; s < 4; ++s)
      for (int c = 0; c < 3; ++c) {
        const auto number = [&](int j) -> Complex<double>& { return all[size_t(j)][site].s[s].c[c]; };
        if (is_first_block) number(4) = {0, 0};
        number(5) = {number(0).re - 2 * number(2).re, number(0).im - 2 * number(2).im};
      }
  }
  for (int j = 0; j < 6; ++j) test::to_product(vectors, all[size_t(j)], j);
  return vectors;
}

TEST(MultigridRemedies, vectors_that_depend_on_each_other_are_replaced_and_bits_do_not_depend_on_lanes) {
  std::vector<std::vector<double>> residuals;
  for (const int lanes : {1, 8}) {
    const WilsonOperator M(links(lanes), clover(0.05), {.lanes = lanes});
    const MultigridPtr multigrid =
        MultigridSetup(*M.matrix(), small(6)).from_vectors(dependent_vectors(M), 1);
    ASSERT_EQ(multigrid->report().notes.size(), 1u);
    EXPECT_EQ(multigrid->report().notes[0],
              "3 of 6 test vectors depended on others in some block: noise replaced them");
    EXPECT_EQ(multigrid->prolongator().dependent_columns(0.999), std::vector<int>{});
    const SpinorField b = random_columns(M, 1, 70);
    SpinorField x = SpinorField::like(b);
    const SolveReport report = solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    residuals.push_back(multigrid->report().residual);
  }
  EXPECT_EQ(residuals[0], residuals[1]);
}

/// A(X) of one vector is [h z; -z* k] + mass: returns the largest mass at which it has no inverse at some X.
double singular_mass(const Multigrid& multigrid) {
  const SiteField& diagonal = multigrid.coarse()->diagonal();
  std::vector<double> A(size_t(diagonal.reals()));
  const Geometry& g = diagonal.geometry();
  double largest = -10;
  for (int64_t i = 0; i < g.local_volume(); ++i) {
    diagonal.get_site(diagonal.layout().position(site_coord(i, g.local())), 0, A.data());
    const double half = (A[0] - A[6]) / 2, z2 = A[2] * A[2] + A[3] * A[3];
    if (half * half > z2) largest = std::max(largest, std::sqrt(half * half - z2) - (A[0] + A[6]) / 2);
  }
  EXPECT_GT(largest, -10);
  return largest;
}

/// Returns the same spinor on all sites.
SpinorField constant_vector(const WilsonOperator& M) {
  SpinorField field = M.make_field(1);
  const reference::SpinorVector one = test::random_spinors(extents, 90);
  test::to_product(field, reference::SpinorVector(one.size(), one[0]));
  return field;
}

class SingularCoarseMatrix : public testing::Test {
 protected:
  SingularCoarseMatrix() {
    params_ = small(1);
    params_.storage = Precision::double_precision;
    const WilsonOperator heavy(U_, clover(0));
    heavy_ = MultigridSetup(*heavy.matrix(), params_).from_vectors(constant_vector(heavy), 0);
    singular_ = std::make_unique<WilsonOperator>(U_, clover(singular_mass(*heavy_)));
  }
  GaugeField U_ = links();
  MultigridParams params_;
  MultigridPtr heavy_;
  std::unique_ptr<WilsonOperator> singular_;
};

TEST_F(SingularCoarseMatrix, of_a_setup_takes_other_vectors) {
  const MultigridPtr multigrid =
      MultigridSetup(*singular_->matrix(), params_).from_vectors(constant_vector(*singular_), 0);
  ASSERT_EQ(multigrid->report().notes.size(), 1u);
  EXPECT_NE(multigrid->report().notes[0].find("singular"), std::string::npos) << multigrid->report().notes[0];
  EXPECT_LT(multigrid->report().condition, 1e5);
}

TEST_F(SingularCoarseMatrix, of_a_shift_is_an_error_and_a_solve_goes_on_without_it) {
  EXPECT_THROW(heavy_->at(*singular_), NumericError);
  const SpinorField b = random_columns(*singular_, 1, 91);
  SpinorField x = SpinorField::like(b);
  const SolveReport report = solve(MultigridSpec{.multigrid = heavy_, .tolerance = 1e-4}, *singular_, x, b);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_LE(relative_residual(*singular_, x, b)[0], 1e-4);
  ASSERT_GE(report.stages.size(), 2u);
  EXPECT_NE(report.stages[0].method.find("singular"), std::string::npos) << report.stages[0].method;
  EXPECT_EQ(report.stages[0].reason, StopReason::broke_down);
}

/// With a mass inside of the spectrum no cycle converges.
TEST(MultigridRemedies, a_stuck_solve_is_refreshed_then_set_up_anew_and_then_left_to_conjugate_gradients) {
  const GaugeField U = links();
  const WilsonOperator light(U, clover(0.05)), stuck(U, clover(-2.0));
  MultigridParams params = small(6);
  params.coarse_iterations = 8;
  const MultigridPtr multigrid = Multigrid::make(light, params);
  const MultigridSpec spec{.multigrid = multigrid, .tolerance = 1e-5};
  const SpinorField b = random_columns(light, 1, 92);
  const auto solution = [&](const WilsonOperator& M, SolveReport& report) {
    SpinorField x = SpinorField::like(b);
    report = solve(spec, M, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    EXPECT_LE(relative_residual(M, x, b)[0], 1e-5);
    return test::canonical_part(x);
  };
  SolveReport of_light, of_stuck, again;
  const std::vector<double> before = solution(light, of_light), x = solution(stuck, of_stuck);
  EXPECT_TRUE(of_light.stages.empty());
  std::vector<std::string> methods;
  for (const SolveStage& stage : of_stuck.stages) methods.push_back(stage.method);
  const std::string name = "multigrid (6 vectors, blocks of 2x2x2x2)";
  const std::vector<std::string> expected{name, name + ", after one sweep more",
                                          name + ", set up anew from other noise with 2 sweeps more",
                                          "even-odd (symmetric) cg on the normal equations, float inside"};
  EXPECT_EQ(methods, expected);
  for (size_t i = 0; i + 1 < of_stuck.stages.size(); ++i) {
    EXPECT_EQ(of_stuck.stages[i].reason, StopReason::stagnated);
    EXPECT_LT(of_stuck.stages[i].iterations, 400);
  }
  // No solve depends on those before it.
  EXPECT_TRUE(solution(stuck, again) == x);
  EXPECT_TRUE(solution(light, again) == before);
}

}  // namespace in_test_multigrid_remedies
}  // namespace trellis
