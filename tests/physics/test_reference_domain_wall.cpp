// timeout: 600
/// Reference domain-wall fermions have gold correlators, the overlap operator at finite Ls and identities.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/domain_wall.hpp"
#include "reference/mesons.hpp"
#include "reference/sources.hpp"
#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis::reference {
namespace in_test_reference_domain_wall {

using test::DenseMatrix;
using test::rounding;

FiveVector random_five(const Coord& extents, int Ls, uint64_t seed) {
  FiveVector psi;
  for (int s = 0; s < Ls; ++s) psi.push_back(test::random_spinors(extents, seed + uint64_t(s)));
  return psi;
}

DomainWallParameters moebius(double mass, int Ls, double b5, double c5) {
  DomainWallParameters p;
  p.mass = mass;
  p.Ls = Ls;
  p.b5 = b5;
  p.c5 = c5;
  return p;
}

TEST(ReferenceDomainWall, dagger_is_the_adjoint) {
  const Coord L{2, 4, 2, 4};
  const DomainWallOperator D(test::random_gauge(L, 1), moebius(0.07, 5, 1.5, 0.5));
  const FiveVector a = random_five(L, 5, 10), b = random_five(L, 5, 20);
  EXPECT_LT(std::abs(dot(a, D.apply(b)) - dot(D.apply_dagger(a), b)),
            rounding(100) * std::sqrt(norm2(a) * norm2(b)));
}

/// Gamma5 R D5 (Shamir) is hermitian; for Moebius Gamma5 R D_-^-1 D5 is, so D5 = D_- Gamma5 R D5^dagger
/// D_-^-dagger Gamma5 R. This is tested as D5 Gamma5 R D_-^dagger = D_- Gamma5 R D5^dagger.
TEST(ReferenceDomainWall, is_gamma5_R_hermitian) {
  const Coord L{2, 4, 2, 4};
  const GammaMatrix gamma5 = gamma_product(15);
  for (const auto& [b5, c5] : {std::pair{1.0, 0.0}, std::pair{1.5, 0.5}}) {
    const DomainWallOperator D(test::random_gauge(L, 2), moebius(0.07, 4, b5, c5));
    const FiveVector psi = random_five(L, 4, 30);
    const auto reflected = [&](FiveVector v) {
      std::reverse(v.begin(), v.end());
      for (SpinorVector& slice : v) slice = multiply(gamma5, slice);
      return v;
    };
    FiveVector D_minus_dagger = psi;  // this is gamma5 D_- gamma5
    for (SpinorVector& slice : D_minus_dagger) slice = multiply(gamma5, slice);
    D_minus_dagger = D.apply_D_minus(D_minus_dagger);
    for (SpinorVector& slice : D_minus_dagger) slice = multiply(gamma5, slice);
    const FiveVector left = D.apply(reflected(D_minus_dagger));
    const FiveVector right = D.apply_D_minus(reflected(D.apply_dagger(psi)));
    EXPECT_LT(relative_error(left, right), rounding(50)) << "b5 = " << b5;
  }
}

void expect_list(const std::vector<double>& found, const nlohmann::json& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t t = 0; t < found.size(); ++t)
    EXPECT_LT(test::relative_error(found[t], expected[t].get<double>()), 1e-9) << what << ", t = " << t;
}

void expect_gold(const std::string& id) {
  const auto& parameters = test::gold_parameters(id);
  const auto& values = test::gold(id);
  DomainWallParameters p =
      moebius(parameters.at("m_f"), parameters.at("Ls"), parameters.at("b5"), parameters.at("c5"));
  p.M5 = parameters.at("M5");
  const Gauge U = test::field_F4();
  const auto S = propagators(DomainWallOperator(U, p), point_source(U.extents, {0, 0, 0, 0}));
  const auto pion = propagator_norm(S.quark), midpoint = propagator_norm(S.midpoint);
  expect_list(pion, values.at("pion"), id + " pion");
  expect_list(midpoint, values.at("midpoint"), id + " midpoint");
  double pions = 0, midpoints = 0, trace = 0;
  std::vector<double> m_res;
  for (size_t t = 0; t < pion.size(); ++t) {
    m_res.push_back(midpoint[t] / pion[t]);
    pions += pion[t];
    midpoints += midpoint[t];
  }
  expect_list(m_res, values.at("m_res_t"), id + " m_res");
  for (int s = 0; s < 4; ++s)
    for (int c = 0; c < 3; ++c) trace += S.quark.entry(0, s, c, s, c).real();
  // The axial Ward identity is exact on each field.
  EXPECT_LT(test::relative_error(p.mass * pions + midpoints, trace), 1e-10);
  EXPECT_LT(test::relative_error(trace, values.at("psibarpsi_tr_q_00").get<double>()), 1e-9);
}

TEST(ReferenceDomainWall, shamir_correlators_and_m_res_on_F4) {
  TRELLIS_NEEDS_DATA();
  expect_gold("dwf.shamir.M5_1.8.b1.c0.m0.1.Ls4.F4");
}

/// Checks q = (D_ov^-1 - 1)/(1 - m) with D_ov = (1+m)/2 + (1-m)/2 gamma5 tanh(Ls artanh H) and H = gamma5
/// (b5+c5) D_W / (2 + (b5-c5) D_W), for all 3072 eigenvalues of H.
void expect_overlap(const Gauge& U, double mass, double b5, double c5, const std::vector<int>& all_Ls) {
  const WilsonOperator W(U, wilson_clover(-1.8, 0));
  const int n = int(12 * U.volume());
  const DenseMatrix D_W = test::dense_matrix(
      n, [&](const test::DenseVector& v) { return test::to_dense(W.apply(test::to_spinors(v))); });
  const DenseMatrix one = DenseMatrix::Identity(n, n);
  DenseMatrix H = (2.0 * one + (b5 - c5) * D_W).partialPivLu().solve((b5 + c5) * D_W);
  const auto times_gamma5 = [](DenseMatrix m) {
    for (int i = 0; i < m.rows(); ++i)
      if (i % 12 >= 6) m.row(i) *= -1;
    return m;
  };
  H = times_gamma5(H);
  EXPECT_LT((H - H.adjoint()).norm(), 1e-11 * H.norm());
  const test::HermitianEigen eigen = test::hermitian_eigen((H + H.adjoint()) / 2.0);
  double last_distance = 2;
  const SpinorVector b = test::random_spinors(U.extents, 40);
  for (const int Ls : all_Ls) {
    // The identity tanh(Ls artanh h) = ((1+h)^Ls - (1-h)^Ls) / ((1+h)^Ls + (1-h)^Ls) holds for |h| above 1 as
    // well.
    Eigen::VectorXd sign = eigen.values;
    for (double& h : sign) {
      const double r =
          std::pow(std::abs(1 - h) < std::abs(1 + h) ? (1 - h) / (1 + h) : (1 + h) / (1 - h), Ls);
      h = (std::abs(1 - h) < std::abs(1 + h) ? 1 : -1) * (1 - r) / (1 + r);
    }
    double distance = 0;
    for (const double e : sign) distance = std::max(distance, std::abs(1 - std::abs(e)));
    EXPECT_LT(distance, last_distance) << "Ls = " << Ls;
    last_distance = distance;
    const DenseMatrix epsilon = eigen.vectors * sign.asDiagonal() * eigen.vectors.adjoint();
    const DenseMatrix D_ov = (1 + mass) / 2 * one + (1 - mass) / 2 * times_gamma5(epsilon);
    const test::DenseVector expected =
        (D_ov.partialPivLu().solve(test::to_dense(b)) - test::to_dense(b)) / (1 - mass);
    const DomainWallOperator D(U, moebius(mass, Ls, b5, c5));
    const SpinorVector q = wall_quark(solve(D, domain_wall_source(D, b), 1e-14));
    EXPECT_LT((test::to_dense(q) - expected).norm(), 1e-12 * expected.norm()) << "Ls = " << Ls;
  }
}

TEST(ReferenceDomainWall, is_the_overlap_with_tanh_on_a_small_field) {
  const Gauge U = test::random_gauge({2, 2, 2, 4}, 3, 0.5);
  expect_overlap(U, 0.1, 1.5, 0.5, {4, 8, 12});
  expect_overlap(U, 0.1, 1.0, 0.0, {4, 8});
}

}  // namespace in_test_reference_domain_wall
}  // namespace trellis::reference
