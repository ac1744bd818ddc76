/// Levels, their operators and the Schwarz method of the reference multigrid agree with dense matrices on
/// small random fields.
#include <gtest/gtest.h>

#include "reference/multigrid/cycle.hpp"
#include "tests/support/multigrid.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"

namespace trellis::reference {
namespace in_test_reference_multigrid {

using test::all_wilson_options;
using test::DenseMatrix;
using test::DenseVector;
using test::largest;
using test::map_of;
using test::random_level;
using test::relative_error;
using test::rounding;

// ---- the finest level ----

TEST(ReferenceMultigridLevel, is_the_wilson_operator) {
  const Coord L{4, 2, 6, 4};
  WilsonParameters p = all_wilson_options();
  const WilsonOperator D(test::random_gauge(L, 1), p);
  const SpinorVector psi = test::random_spinors(L, 2);
  EXPECT_LT(test::relative_error(to_spinors(WilsonLevel(D).apply(to_level(psi))), D.apply(psi)),
            rounding(20));
  // The level adds i rho gamma5 on even sites.
  SpinorVector expected = D.apply(psi);
  add_scaled(expected, {0, 0.4}, multiply(gamma_product(15), restricted_to(psi, 0, L)));
  EXPECT_LT(test::relative_error(to_spinors(WilsonLevel(D, 0.4).apply(to_level(psi))), expected),
            rounding(20));
}

TEST(ReferenceMultigridLevel, dense_matrix_sums_both_steps_to_one_neighbour) {
  const auto D = random_level({4, 2, 1, 2}, 3, all_wilson_options());
  EXPECT_LT(largest(test::to_dense(D->dense()) - test::dense_matrix(D->size(), map_of(*D))), rounding(30));
}

TEST(ReferenceMultigridLevel, even_odd_form_solves_the_system) {
  const auto D = random_level({2, 4, 2, 4}, 4, all_wilson_options());
  const LevelSchur S(D);
  const LevelVector b = test::random_level_vector(D->size(), 5);
  const GcrSolution even =
      flexible_gcr([&](const LevelVector& v) { return S.apply(v); }, S.source(b), 1e-13, 500);
  EXPECT_LT(relative_error(D->apply(S.solution(even.x, b)), b), 1e-12);
}

TEST(ReferenceMultigridLevel, lu_solves_inverts_and_refuses) {
  const auto D = random_level({2, 2, 2, 2}, 6, wilson_clover(-0.3, 1.2));
  const LU lu(D->dense());
  const LevelVector b = test::random_level_vector(D->size(), 7);
  EXPECT_LT(relative_error(D->apply(lu.solve(b)), b), 1e-12);
  const DenseMatrix dense = test::to_dense(D->dense());
  EXPECT_LT(relative_error(lu.log_abs_determinant(), test::log_abs_determinant(dense.partialPivLu())), 1e-12);
  EXPECT_LT(largest(test::to_dense(lu.inverse()) * dense - DenseMatrix::Identity(dense.rows(), dense.cols())),
            1e-12);
  Matrix singular(2, 2);
  singular(0, 0) = singular(1, 0) = {1, 0};
  EXPECT_THROW(LU{singular}, NumericError);
}

// ---- Schwarz ----

/// Returns row numbers of a block's components, of one parity or of both (-1), from coordinates alone.
std::vector<Eigen::Index> rows_of(const Coord& L, const Coord& block, const Coord& at, int parity = -1) {
  std::vector<Eigen::Index> rows;
  for (int64_t x = 0; x < product(L); ++x) {
    const Coord c = site_coord(x, L);
    bool is_inside = parity < 0 || site_parity(c) == parity;
    for (int mu = 0; mu < Nd; ++mu) is_inside = is_inside && c[mu] / block[mu] == at[mu];
    for (int i = 0; is_inside && i < 12; ++i) rows.push_back(12 * x + i);
  }
  return rows;
}

struct SmallSystem {
  Coord L{4, 2, 4, 2}, block{2, 2, 2, 2}, grid{2, 1, 2, 1};
  std::shared_ptr<const WilsonLevel> D = random_level(L, 11, all_wilson_options());
  DenseMatrix dense = test::to_dense(D->dense());
  LevelVector b = test::random_level_vector(D->size(), 12), x = test::random_level_vector(D->size(), 13);

  std::vector<Coord> blocks(int colour) const {
    std::vector<Coord> list;
    for (int64_t B = 0; B < product(grid); ++B)
      if (colour < 0 || site_parity(site_coord(B, grid)) == colour) list.push_back(site_coord(B, grid));
    return list;
  }
  /// Returns x + the sum over blocks of a colour (-1 takes all) of `solve` on the block's rows of b - D x.
  template <class Solve>
  DenseVector corrected(const DenseVector& x, int colour, const Solve& solve) const {
    const DenseVector r = test::to_dense(b) - dense * x;
    DenseVector result = x;
    for (const Coord& at : blocks(colour)) {
      const auto rows = rows_of(L, block, at);
      result(rows) += solve(at, DenseVector(r(rows)));
    }
    return result;
  }
  DenseMatrix part(const Coord& at, int row_parity = -1, int column_parity = -1) const {
    return dense(rows_of(L, block, at, row_parity), rows_of(L, block, at, column_parity));
  }
};

const SmallSystem& small_system() {
  static const SmallSystem system;
  return system;
}

DenseVector minimal_residual(const DenseMatrix& A, DenseVector r, int steps) {
  DenseVector x = DenseVector::Zero(r.size());
  for (int k = 0; k < steps; ++k) {
    const DenseVector q = A * r;
    const std::complex<double> alpha = q.dot(r) / q.squaredNorm();
    x += alpha * r;
    r -= alpha * q;
  }
  return x;
}

TEST(ReferenceMultigridSchwarz, exact_cycle_is_block_gauss_seidel) {
  const SmallSystem& s = small_system();
  const Schwarz sap(s.D, s.block, BlockSolver::exact);
  const auto solve = [&](const Coord& at, const DenseVector& r) -> DenseVector {
    return s.part(at).partialPivLu().solve(r);
  };
  const DenseVector red = s.corrected(test::to_dense(s.x), 0, solve);
  LevelVector x = s.x;
  sap.cycle(x, s.b);
  EXPECT_LT((test::to_dense(x) - s.corrected(red, 1, solve)).norm(), 1e-12 * test::to_dense(x).norm());
  x = s.x;
  sap.additive_cycle(x, s.b);
  EXPECT_LT((test::to_dense(x) - s.corrected(test::to_dense(s.x), -1, solve)).norm(),
            1e-12 * test::to_dense(x).norm());
}

TEST(ReferenceMultigridSchwarz, block_diagonal_part_drops_the_legs_that_leave) {
  const SmallSystem& s = small_system();
  const LevelVector image = Schwarz(s.D, s.block, BlockSolver::mr_full).block_diagonal(s.x);
  for (const Coord& at : s.blocks(-1)) {
    const auto rows = rows_of(s.L, s.block, at);
    const DenseVector expected = s.part(at) * test::to_dense(s.x)(rows);
    EXPECT_LT((test::to_dense(image)(rows) - expected).norm(), rounding(20) * expected.norm());
  }
}

TEST(ReferenceMultigridSchwarz, minimal_residual_on_whole_blocks) {
  const SmallSystem& s = small_system();
  const auto solve = [&](const Coord& at, const DenseVector& r) {
    return minimal_residual(s.part(at), r, 3);
  };
  LevelVector x = s.x;
  Schwarz(s.D, s.block, BlockSolver::mr_full, 3).cycle(x, s.b);
  const DenseVector expected = s.corrected(s.corrected(test::to_dense(s.x), 0, solve), 1, solve);
  EXPECT_LT((test::to_dense(x) - expected).norm(), 1e-12 * expected.norm());
}

/// The even-odd form eliminates the odd sites exactly: behind a block solve their residual is zero.
TEST(ReferenceMultigridSchwarz, minimal_residual_on_even_sites_of_blocks) {
  const SmallSystem& s = small_system();
  const auto solve = [&](const Coord& at, const DenseVector& r) {
    const auto rows = rows_of(s.L, s.block, at);
    std::vector<Eigen::Index> even, odd;  // these are places within the block
    for (size_t i = 0; i < rows.size(); ++i)
      (site_parity(site_coord(rows[i] / 12, s.L)) == 0 ? even : odd).push_back(Eigen::Index(i));
    const DenseMatrix A_oo_inverse = s.part(at, 1, 1).inverse(), D_eo = s.part(at, 0, 1),
                      D_oe = s.part(at, 1, 0);
    const DenseMatrix S = s.part(at, 0, 0) - D_eo * A_oo_inverse * D_oe;
    const DenseVector x_e = minimal_residual(S, r(even) - D_eo * (A_oo_inverse * r(odd)), 4);
    DenseVector x(r.size());
    x(even) = x_e;
    x(odd) = A_oo_inverse * (r(odd) - D_oe * x_e);
    return x;
  };
  const Schwarz sap(s.D, s.block, BlockSolver::mr_even_odd, 4);
  LevelVector x = s.x;
  sap.cycle(x, s.b);
  const DenseVector expected = s.corrected(s.corrected(test::to_dense(s.x), 0, solve), 1, solve);
  EXPECT_LT((test::to_dense(x) - expected).norm(), 1e-12 * expected.norm());
  const LevelVector left = difference(s.b, sap.block_diagonal(sap.correction(s.b)));
  EXPECT_LT(norm2(restricted_to(*s.D, left, 1)), rounding(100) * rounding(100) * norm2(s.b));
}

TEST(ReferenceMultigridSchwarz, one_block_is_a_solve_on_the_whole_lattice) {
  const SmallSystem& s = small_system();
  const LevelVector exact = Schwarz(s.D, s.L, BlockSolver::exact).from_zero(s.b, 1);
  EXPECT_LT(relative_error(s.D->apply(exact), s.b), 1e-12);
  const Schwarz smoother(s.D, s.L, BlockSolver::mr_even_odd, 200);
  EXPECT_LT(relative_error(s.D->apply(smoother.from_zero(s.b, 1)), s.b), 1e-10);
}

TEST(ReferenceMultigridSchwarz, a_block_without_residual_stays) {
  const SmallSystem& s = small_system();
  const LevelVector zero(s.D->size(), Complex<double>{0, 0});
  for (const BlockSolver solver : {BlockSolver::mr_full, BlockSolver::mr_even_odd})
    EXPECT_EQ(norm2(Schwarz(s.D, s.block, solver).correction(zero)), 0.0);
}

TEST(ReferenceMultigridSchwarz, refuses_blocks_that_do_not_fit) {
  const auto D = random_level({6, 2, 2, 2}, 14, wilson_clover(-0.3, 1.2));
  EXPECT_THROW(Schwarz(D, {4, 2, 2, 2}, BlockSolver::exact), BadArgument);    // does not divide
  EXPECT_THROW(Schwarz(D, {2, 2, 2, 2}, BlockSolver::mr_full), BadArgument);  // three blocks, two colours
  EXPECT_NO_THROW(Schwarz(D, {3, 2, 2, 2}, BlockSolver::mr_full));
  const auto odd = random_level({2, 1, 2, 2}, 15, wilson_clover(-0.3, 1.2));
  EXPECT_THROW(Schwarz(odd, {2, 1, 1, 1}, BlockSolver::mr_even_odd), BadArgument);
  // The matrix A = 0 has no inverse.
  const auto singular = random_level({2, 2, 2, 2}, 16, wilson_clover(-4, 0));
  EXPECT_THROW(Schwarz(singular, {2, 2, 2, 2}, BlockSolver::mr_even_odd), NumericError);
  EXPECT_THROW(LevelSchur{singular}, NumericError);
}

}  // namespace in_test_reference_multigrid
}  // namespace trellis::reference
