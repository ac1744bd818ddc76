// timeout: 600
/// The reference multigrid on F4 agrees with mg_gold.json: spectrum, SAP and coarse operators of three kinds
/// of test vectors.
#include <gtest/gtest.h>

#include "reference/staggered.hpp"
#include "tests/support/multigrid_F4.hpp"

namespace trellis::reference {
namespace in_test_reference_multigrid_F4 {

using test::Coarsening;
using test::dense_tolerance;
using test::DenseMatrix;
using test::DenseVector;
using test::exact_inverse;
using test::F4;
using test::low_modes;
using test::lowest;
using test::mr_tolerance;
using test::relative_error;

TEST(ReferenceMultigridF4, spectrum_and_determinant) {
  TRELLIS_NEEDS_DATA();
  test::expect_values(low_modes().values, test::multigrid_gold("f4.spectrum.lowest8_abs_Q"), dense_tolerance,
                      "lowest");
  for (size_t k = 0; k < 8; ++k) {
    const LevelVector& v = low_modes().vectors[k];
    EXPECT_LT(relative_error(std::sqrt(norm2(F4().D->apply(v))), low_modes().values[k]), 1e-12) << k;
  }
  const Eigen::VectorXd outer = test::lanczos_eigenvalues(
      int(F4().D->size()),
      [](const DenseVector& v) { return test::to_dense(gamma5_times(12, F4().D->apply(test::to_level(v)))); },
      160);
  EXPECT_LT(relative_error(outer.cwiseAbs().maxCoeff(),
                           test::multigrid_gold("f4.spectrum.largest_abs_Q").get<double>()),
            dense_tolerance);
  EXPECT_LT(
      relative_error(exact_inverse().log_determinant, test::multigrid_gold("f4.logabsdet_D").get<double>()),
      dense_tolerance);
}

// ---- SAP ----

TEST(ReferenceMultigridF4, schwarz_cycles) {
  TRELLIS_NEEDS_DATA();
  const LevelVector b = test::hash_level_vector(F4().D->size(), 0);
  EXPECT_LT(relative_error(norm2(b), test::multigrid_gold("f4.rhs.norm2_hash0").get<double>()), 1e-14);
  for (const auto& [solver, id] : {std::pair{BlockSolver::mr_full, "f4.sap.mr_full.n4.residuals_5cycles"},
                                   {BlockSolver::mr_even_odd, "f4.sap.mr_evenodd.n4.residuals_5cycles"}})
    test::expect_values(test::residuals_of_cycles(F4(), *F4().schwarz(solver), b), test::multigrid_gold(id),
                        mr_tolerance, id);
  EXPECT_LT(relative_error(norm2(F4().schwarz(BlockSolver::mr_even_odd)->from_zero(b, 1)),
                           test::multigrid_gold("f4.sap.mr_evenodd.n4.solution_norm2_1cycle").get<double>()),
            mr_tolerance);
}

TEST(ReferenceMultigridF4, exact_schwarz_converges_to_the_inverse) {
  TRELLIS_NEEDS_DATA();
  const LevelVector b = test::hash_level_vector(F4().D->size(), 0);
  const LevelVector x = F4().schwarz(BlockSolver::exact)->from_zero(b, 200);
  EXPECT_LT(relative_error(x, exact_inverse().apply(b)), 1e-12);
}

// ---- coarse operators ----

TEST(ReferenceMultigridF4, coarse_operators) {
  TRELLIS_NEEDS_DATA();
  const Coarsening hash(test::hash_level_vectors(F4().D->size(), 4)), low(lowest(4)),
      init(F4().init_vectors(4));
  test::expect_coarse("f4.hash_vectors.n4.coarse", hash.P, hash.D_c, dense_tolerance);
  test::expect_coarse("f4.lowmodes.n4.coarse", low.P, low.D_c, dense_tolerance);
  test::expect_coarse("f4.init_vectors.n4.coarse", init.P, init.D_c, mr_tolerance);
  test::expect_values(test::image_norms(*F4().D, F4().init_vectors(4)),
                      test::multigrid_gold("f4.init_vectors.n4.rayleigh_norm_Dv"), mr_tolerance, "norm_Dv");
}

TEST(ReferenceMultigridF4, correction_removes_exact_low_modes) {
  TRELLIS_NEEDS_DATA();
  const Coarsening low(lowest(4));
  for (const LevelVector& v : lowest(4)) {
    EXPECT_LT(std::sqrt(norm2(low.correct(v))), 1e-13);
    EXPECT_LT(std::sqrt(norm2(low.correct(gamma5_times(12, v)))), 1e-13);
  }
}

TEST(ReferenceMultigridF4, twisted_mass_is_a_shift) {
  TRELLIS_NEEDS_DATA();
  const Coarsening low(lowest(8));
  WilsonParameters p = wilson_clover(mass_of_kappa(0.1350), 1.769);
  p.twisted_mass = 0.05;
  const CoarseOperator twisted(WilsonLevel(WilsonOperator(test::field_F4(), p)), low.P);
  EXPECT_LT((test::to_dense(twisted.dense()) - test::to_dense(low.D_c.shifted(0, 0.05).dense()))
                .cwiseAbs()
                .maxCoeff(),
            1e-14);
}

// ---- the Kaehler-Dirac form of staggered quarks ----

/// The operator is B^-1 (D + m), where B is m + the part of D inside the 2^4 hypercubes at even corners.
TEST(ReferenceMultigridF4, staggered_quarks_preconditioned_by_hypercubes) {
  TRELLIS_NEEDS_DATA();
  const Gauge U = test::field_F4();
  const auto theta = staggered_theta(U.extents, {});
  const Blocks cubes(U.extents, {2, 2, 2, 2});
  const DenseMatrix D = test::dense_matrix(int(3 * U.volume()), [&](const DenseVector& v) {
    return test::to_dense(staggered_apply(U, theta, 0.1, test::to_colour_vectors(v)));
  });
  DenseMatrix KD = D;
  for (int64_t B = 0; B < cubes.count(); ++B) {
    std::vector<Eigen::Index> rows;
    for (const int64_t x : cubes.sites(B))
      for (int c = 0; c < Nc; ++c) rows.push_back(3 * x + c);
    const DenseMatrix cube = D(rows, rows), all = D(rows, Eigen::all);
    KD(rows, Eigen::all) = DenseMatrix(cube.partialPivLu().solve(all));
  }
  const auto& expected = test::multigrid_gold("f4.staggered_kd.m0.1");
  const auto near = [&](double found, const std::string& name) {
    EXPECT_LT(relative_error(found, expected.at(name).get<double>()), dense_tolerance) << name;
  };
  near(KD.trace().real(), "trace_re");
  near(KD.norm(), "frobenius");
  const Eigen::Index size = KD.rows();
  near(std::sqrt(
           test::lanczos_eigenvalues(
               int(size), [&](const DenseVector& v) { return DenseVector(KD.adjoint() * (KD * v)); }, 150)
               .maxCoeff()),
       "norm2");
  const DenseVector outer = test::arnoldi_eigenvalues(
      size, [&](const DenseVector& v) { return DenseVector(KD * v); }, 320);
  near(outer.cwiseAbs().maxCoeff(), "largest_abs");
  near(outer.real().minCoeff(), "smallest_real");
  near(outer.imag().cwiseAbs().maxCoeff(), "largest_imag");
  const Eigen::PartialPivLU<DenseMatrix> lu(KD);
  near(1 / test::arnoldi_eigenvalues(
               size, [&](const DenseVector& v) { return DenseVector(lu.solve(v)); }, 200)
               .cwiseAbs()
               .maxCoeff(),
       "smallest_abs");
}

}  // namespace in_test_reference_multigrid_F4
}  // namespace trellis::reference
