// timeout: 900
/// The reference Wilson-clover operator on F4 has known determinants and eigenvalues, and so have its
/// even-odd forms.
#include <gtest/gtest.h>

#include "reference/even_odd.hpp"
#include "reference/smearing.hpp"
#include "reference/solver.hpp"
#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"

namespace trellis::reference {
namespace in_test_reference_determinant {

using test::rounding;
const Coord uneven{2, 4, 2, 6};

WilsonParameters all_options() {
  WilsonParameters p;
  p.mass = 0.1;
  p.boundary = {1.0, -1.0, std::polar(1.0, 0.7), -1.0};
  p.c_r = 1.1;
  p.c_t = 0.8;
  p.nu = 0.9;
  p.xi0 = 1.5;
  p.twisted_mass = 0.2;
  return p;
}

TEST(ReferenceEvenOdd, schur_solution_solves_the_full_system) {
  const WilsonOperator D(test::random_gauge(uneven, 41), all_options());
  const SpinorVector b = test::random_spinors(uneven, 42);
  for (const int parity : {0, 1}) {
    const SpinorVector b_p = schur_source(D, parity, b);
    const Solution asymmetric =
        solve([&](const SpinorVector& v) { return schur_asymmetric(D, parity, v); },
              [&](const SpinorVector& v) { return schur_asymmetric(D, parity, v, true); }, b_p, 1e-14);
    const Solution symmetric =
        solve([&](const SpinorVector& v) { return schur_symmetric(D, parity, v); },
              [&](const SpinorVector& v) { return schur_symmetric(D, parity, v, true); },
              D.diagonal_inverse(b_p), 1e-14);
    for (const Solution& s : {asymmetric, symmetric})
      EXPECT_LT(test::relative_error(D.apply(schur_solution(D, parity, s.x, b)), b), 1e-12)
          << "parity " << parity;
  }
}

TEST(ReferenceEvenOdd, schur_daggers_are_adjoint) {
  const WilsonOperator D(test::random_gauge(uneven, 43), all_options());
  for (const int parity : {0, 1}) {
    const SpinorVector a = restricted_to(test::random_spinors(uneven, 44), parity, uneven);
    const SpinorVector b = restricted_to(test::random_spinors(uneven, 45), parity, uneven);
    const double scale = rounding(300) * std::sqrt(norm2(a) * norm2(b));
    EXPECT_LT(std::abs(dot(a, schur_asymmetric(D, parity, b)) - dot(schur_asymmetric(D, parity, a, true), b)),
              scale);
    EXPECT_LT(std::abs(dot(a, schur_symmetric(D, parity, b)) - dot(schur_symmetric(D, parity, a, true), b)),
              scale);
  }
}

/// Returns log |det D| = log |det A_qq| + log |det (A_pp - D_pq A_qq^-1 D_qp)|: the matrix has half the size,
/// and the Schur form is checked.
double log_determinant_even_odd(const WilsonOperator& D, int parity) {
  const Coord& L = D.links().extents;
  std::vector<Eigen::Index> kept;
  double log_other = 0;
  for (int64_t x = 0; x < product(L); ++x) {
    if (site_parity(site_coord(x, L)) == parity) {
      for (int i = 0; i < 12; ++i) kept.push_back(12 * x + i);
      continue;
    }
    const ChiralBlocks blocks = D.diagonal_blocks(x);
    for (const ChiralBlock& block : blocks) {
      test::DenseMatrix A(6, 6);
      for (size_t i = 0; i < 6; ++i)
        for (size_t j = 0; j < 6; ++j) A(Eigen::Index(i), Eigen::Index(j)) = block[i][j];
      log_other += test::log_abs_determinant(A.partialPivLu());
    }
  }
  const auto size = Eigen::Index(12 * product(L));
  const test::DenseMatrix schur = test::dense_matrix(int(kept.size()), [&](const test::DenseVector& v) {
    test::DenseVector full = test::DenseVector::Zero(size);
    full(kept) = v;
    return test::DenseVector(test::to_dense(schur_asymmetric(D, parity, test::to_spinors(full)))(kept));
  });
  return log_other + test::log_abs_determinant(schur.partialPivLu());
}

TEST(ReferenceDeterminant, even_odd_forms_give_the_determinant) {
  const WilsonOperator D(test::random_gauge({2, 2, 2, 2}, 46), all_options());
  const test::DenseMatrix A = test::dense_matrix(
      12 * 16, [&](const test::DenseVector& v) { return test::to_dense(D.apply(test::to_spinors(v))); });
  const double expected = test::log_abs_determinant(A.partialPivLu());
  EXPECT_LT(test::relative_error(log_determinant_even_odd(D, 0), expected), 1e-12);
  EXPECT_LT(test::relative_error(log_determinant_even_odd(D, 1), expected), 1e-12);
}

TEST(ReferenceDeterminant, wilson_clover_on_F4) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  const double mass = mass_of_kappa(0.13);
  auto expect = [](const WilsonOperator& D, double expected) {
    EXPECT_LT(test::relative_error(log_determinant_even_odd(D, 0), expected), 1e-12);
  };
  expect(WilsonOperator(U, wilson_clover(0, 0)), 4274.4149572427);
  expect(WilsonOperator(U, wilson_clover(mass, 1)), test::gold("wilson.k0.13.c1.F4").at("logabsdet_D"));
  expect(WilsonOperator(stout_smeared(U, isotropic_stout(0.15)), wilson_clover(mass, 1)),
         test::gold("wilson.force.k0.13.c1.stout1.F4").at("logabsdet_D"));
}

/// The twisted pair has det(D^dagger D + mu^2), which is |det(D + i mu gamma5)|^2.
TEST(ReferenceDeterminant, twisted_mass_on_F4) {
  TRELLIS_NEEDS_DATA();
  WilsonParameters p = wilson_clover(mass_of_kappa(0.13), 0);
  p.twisted_mass = 0.05;
  const double expected = test::gold("twisted.k0.13.mu0.05.F4").at("logdet_Q2_plus_mu2");
  EXPECT_LT(
      test::relative_error(2 * log_determinant_even_odd(WilsonOperator(test::field_F4(), p), 1), expected),
      1e-12);
}

TEST(ReferenceDeterminant, eigenvalues_of_gamma5_D_on_F4) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  const GammaMatrix gamma5 = gamma_product(15);
  for (const auto& [csw, id] : {std::pair{0.0, "wilson.k0.13.c0.F4"}, {1.7, "wilson.k0.13.c1.7.F4"}}) {
    const WilsonOperator D(U, wilson_clover(mass_of_kappa(0.13), csw));
    const auto& expected = test::gold(id);
    const int size = int(12 * U.volume());
    const Eigen::VectorXd outer = test::lanczos_eigenvalues(
        size,
        [&](const test::DenseVector& v) {
          return test::to_dense(multiply(gamma5, D.apply(test::to_spinors(v))));
        },
        160);
    EXPECT_LT(test::relative_error(outer.maxCoeff(), expected.at("g5D_max_eig").get<double>()), 1e-11) << id;
    EXPECT_LT(test::relative_error(outer.minCoeff(), expected.at("g5D_min_eig").get<double>()), 1e-11) << id;
    if (csw == 0) continue;  // the smallest one costs seconds
    // The inverse of the square has the largest eigenvalue 1 / (smallest |lambda|)^2.
    const Eigen::VectorXd inner = test::lanczos_eigenvalues(
        size,
        [&](const test::DenseVector& v) {
          const Solution half =
              solve([&](const SpinorVector& w) { return D.apply_dagger(w); },
                    [&](const SpinorVector& w) { return D.apply(w); }, test::to_spinors(v), 1e-12);
          return test::to_dense(solve([&](const SpinorVector& w) { return D.apply(w); },
                                      [&](const SpinorVector& w) { return D.apply_dagger(w); }, half.x, 1e-12)
                                    .x);
        },
        40);
    EXPECT_LT(
        test::relative_error(1 / std::sqrt(inner.maxCoeff()), expected.at("g5D_min_abs_eig").get<double>()),
        1e-9)
        << id;
  }
}

}  // namespace in_test_reference_determinant
}  // namespace trellis::reference
