// timeout: 600
/// The reference staggered operator agrees with gold numbers: spectrum, determinant, trace and pion on F4.
#include <gtest/gtest.h>

#include <numbers>

#include "reference/smearing.hpp"
#include "reference/staggered.hpp"
#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis::reference {
namespace in_test_reference_staggered {

using test::relative_error;
using test::rounding;

/// Returns (0, 1) for "xy".
std::pair<int, int> plane_of(const std::string& name) {
  const std::string axes = "xyzt";
  return {int(axes.find(name[0])), int(axes.find(name[1]))};
}

test::DenseMatrix dense_massless(const Gauge& U, const std::vector<double>& theta) {
  return test::dense_matrix(int(3 * U.volume()), [&](const test::DenseVector& v) {
    return test::to_dense(staggered_apply(U, theta, 0.0, test::to_colour_vectors(v)));
  });
}

/// Returns the sum over space and colours of |M^-1(x, t; 0)|^2.
std::vector<double> pion(const test::DenseMatrix& D, double mass, const Coord& L) {
  const Eigen::PartialPivLU<test::DenseMatrix> lu(
      test::DenseMatrix(D + mass * test::DenseMatrix::Identity(D.rows(), D.cols())));
  std::vector<double> C(size_t(L[3]), 0.0);
  for (int colour = 0; colour < Nc; ++colour) {
    const test::DenseVector column = lu.solve(test::DenseVector(test::DenseVector::Unit(D.rows(), colour)));
    for (Eigen::Index i = 0; i < column.size(); ++i)
      C[size_t(site_coord(i / 3, L)[3])] += std::norm(column[i]);
  }
  return C;
}

TEST(ReferenceStaggered, every_plaquette_carries_the_flux) {
  const Coord L{4, 2, 6, 4};
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {1, 3}, {0, 3}, {2, 3}}) {
    StaggeredPhases phases;
    phases.boundary_angle = {0, 0, 0, 0};
    phases.flux[{a, b}] = 3;
    const auto theta = staggered_theta(L, phases);
    for (int64_t x = 0; x < product(L); ++x) {
      const int64_t xa = neighbour(x, forward(a), L), xb = neighbour(x, forward(b), L);
      const double sum = theta[size_t(4 * x + a)] + theta[size_t(4 * xa + b)] - theta[size_t(4 * xb + a)] -
                         theta[size_t(4 * x + b)];
      // The -1 comes from the staggered phases of every plaquette.
      const double angle = sum - 2 * std::numbers::pi * 3 / (L[a] * L[b]) - std::numbers::pi;
      EXPECT_LT(std::abs(std::polar(1.0, angle) - 1.0), rounding(100)) << "plane " << a << b << " site " << x;
    }
  }
}

TEST(ReferenceStaggered, massless_operator_is_antihermitian_and_changes_parity) {
  const Coord L{2, 4, 2, 2};
  StaggeredPhases phases;
  phases.mu_over_ipiT = 0.4;
  phases.flux[{0, 2}] = 1;
  const test::DenseMatrix D = dense_massless(test::random_gauge(L, 51), staggered_theta(L, phases));
  EXPECT_LT((D + D.adjoint()).cwiseAbs().maxCoeff(), rounding(4));
  for (Eigen::Index i = 0; i < D.rows(); ++i)
    for (Eigen::Index j = 0; j < D.cols(); ++j)
      if (site_parity(site_coord(i / 3, L)) == site_parity(site_coord(j / 3, L))) {
        EXPECT_EQ(D(i, j), 0.0);
      }
}

/// In the free field D^dagger D = sum_mu sin^2 p_mu, so every eigenvalue of -D^2 is such a sum.
TEST(ReferenceStaggered, free_spectrum) {
  const Coord L{2, 4, 2, 4};
  const test::DenseMatrix D = dense_massless(unit_gauge(L), staggered_theta(L, {}));
  Eigen::VectorXd expected(3 * product(L));
  for (Eigen::Index i = 0; i < expected.size(); ++i) {
    const Coord n = site_coord(i / 3, L);
    double sum = 0;
    for (int mu = 0; mu < Nd; ++mu) {
      const double p = (2 * std::numbers::pi * n[mu] + (mu == 3 ? std::numbers::pi : 0)) / L[mu];
      sum += std::sin(p) * std::sin(p);
    }
    expected[i] = sum;
  }
  std::sort(expected.begin(), expected.end());
  const Eigen::VectorXd seen = test::hermitian_eigenvalues(-D * D);
  EXPECT_LT((seen - expected).cwiseAbs().maxCoeff(), rounding(100));
}

TEST(ReferenceStaggered, gold_numbers_on_F4) {
  TRELLIS_NEEDS_DATA();
  const Gauge thin = test::field_F4();
  for (const std::string prefix :
       {"stag.thin", "stag.mu0.3", "stag.bz_k-3", "stag.ez_xt_k1", "stag.stout2_mu0.3_bz_k2"}) {
    const auto& parameters = test::gold_parameters(prefix + ".m0.1.F4");
    StaggeredPhases phases;
    phases.mu_over_ipiT = parameters.at("mu_over_ipiT").get<double>();
    for (const auto& [name, k] : parameters.at("flux").items()) phases.flux[plane_of(name)] = k.get<int>();
    const Gauge U = stout_smeared(thin, isotropic_stout(parameters.at("stout_rho").get<double>()),
                                  parameters.at("stout_levels").get<int>());
    const test::DenseMatrix D = dense_massless(U, staggered_theta(U.extents, phases));
    const test::DenseMatrix hermitian = std::complex<double>(0, -1) * D;
    const Eigen::VectorXd lambda = test::hermitian_eigenvalues(hermitian);
    const auto& spectrum = test::gold(prefix + ".spectrum.F4");
    for (Eigen::Index i = 0; i < 6; ++i)
      EXPECT_NEAR(lambda[lambda.size() / 2 + i],
                  spectrum.at("smallest6_positive_lambda")[size_t(i)].get<double>(), 1e-12)
          << prefix;
    EXPECT_NEAR(lambda.maxCoeff(), spectrum.at("largest_lambda").get<double>(), 1e-12) << prefix;
    for (const auto& [mass, suffix] : {std::pair{0.02, ".m0.02.F4"}, {0.1, ".m0.1.F4"}, {0.5, ".m0.5.F4"}}) {
      const auto& expected = test::gold(prefix + suffix);
      double trace = 0, logdet = 0;
      for (const double l : lambda) {
        trace += mass / (mass * mass + l * l);
        if (l > 0) logdet += std::log(mass * mass + l * l);
      }
      EXPECT_LT(relative_error(trace / double(U.volume()), expected.at("trMinv_over_V").get<double>()), 1e-11)
          << prefix;
      EXPECT_LT(relative_error(logdet, expected.at("logdet_even").get<double>()), 1e-11) << prefix;
      const auto C = pion(D, mass, U.extents);
      for (size_t t = 0; t < C.size(); ++t)
        EXPECT_LT(relative_error(C[t], expected.at("pion")[t].get<double>()), 1e-11)
            << prefix << suffix << " t = " << t;
    }
  }
}

}  // namespace in_test_reference_staggered
}  // namespace trellis::reference
