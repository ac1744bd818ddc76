/// Prolongation, coarse operators and cycles of the reference multigrid obey exact identities on small random
/// fields.
#include <gtest/gtest.h>

#include "reference/multigrid/cycle.hpp"
#include "tests/support/multigrid.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"

namespace trellis::reference {
namespace in_test_reference_multigrid_coarse {

using test::all_wilson_options;
using test::DenseMatrix;
using test::largest;
using test::map_of;
using test::random_level;
using test::relative_error;
using test::rounding;

/// Returns P^dagger D P, column by column.
DenseMatrix galerkin(const LevelOperator& D, const Prolongator& P, size_t coarse_size) {
  return test::dense_matrix(coarse_size,
                            [&](const LevelVector& v) { return P.restrict(D.apply(P.prolong(v))); });
}

/// This coarse space has blocks of 2^4, and coarse extents of 4 and 2.
struct Coarsened {
  Coord L{8, 4, 4, 4}, block{2, 2, 2, 2};
  std::shared_ptr<const WilsonLevel> D = random_level(L, 21, all_wilson_options(), 0.3);
  Prolongator P{Blocks(L, block), 12, test::random_level_vectors(D->size(), 3, 22)};
  std::shared_ptr<const CoarseOperator> D_c = std::make_shared<const CoarseOperator>(*D, P);
};

const Coarsened& coarsened() {
  static const Coarsened system;
  return system;
}

TEST(ReferenceMultigridCoarse, prolongator_is_orthonormal_and_keeps_chirality) {
  const Coarsened& s = coarsened();
  const DenseMatrix product_of_both =
      test::dense_matrix(s.D_c->size(), [&](const LevelVector& v) { return s.P.restrict(s.P.prolong(v)); });
  EXPECT_LT(largest(product_of_both - DenseMatrix::Identity(product_of_both.rows(), product_of_both.cols())),
            1e-14);
  const LevelVector v = test::random_level_vector(s.D_c->size(), 23);
  const LevelVector left = gamma5_times(12, s.P.prolong(v)), right = s.P.prolong(gamma5_times(6, v));
  EXPECT_EQ(norm2(difference(left, right)), 0.0);
  // The restriction is the adjoint.
  const LevelVector w = test::random_level_vector(s.D->size(), 24);
  EXPECT_LT(std::abs(dot(s.P.prolong(v), w) - dot(v, s.P.restrict(w))),
            rounding(100) * std::sqrt(norm2(v) * norm2(w)));
}

/// One pass of Gram-Schmidt would leave an overlap of 1e-16 / 1e-7 with the first vector.
TEST(ReferenceMultigridCoarse, nearly_dependent_vectors_become_orthonormal) {
  const Coord L{4, 2, 2, 2};
  const size_t size = size_t(12 * product(L));
  auto vectors = test::random_level_vectors(size, 2, 28);
  vectors[1] = scaled(1e-7, vectors[1]);
  add_scaled(vectors[1], 1, vectors[0]);
  const Prolongator P(Blocks(L, {2, 2, 1, 1}), 12, vectors);
  const size_t coarse_size = size_t(4 * P.aggregates().count());
  const DenseMatrix one =
      test::dense_matrix(coarse_size, [&](const LevelVector& v) { return P.restrict(P.prolong(v)); });
  EXPECT_LT(largest(one - DenseMatrix::Identity(one.rows(), one.cols())), 1e-14);
}

/// The first column is the first test vector, and R of Gram-Schmidt has a positive diagonal.
TEST(ReferenceMultigridCoarse, columns_keep_the_order_and_phase_of_the_vectors) {
  const Coarsened& s = coarsened();
  const auto vectors = test::random_level_vectors(s.D->size(), 3, 22);
  for (int k = 0; k < 3; ++k) {
    const LevelVector R = s.P.restrict(vectors[size_t(k)]);
    for (int64_t X = 0; X < s.D_c->volume(); ++X)
      for (int j = 0; j < 6; ++j) {
        const Complex<double> entry = R[size_t(6 * X + j)];
        if (j % 3 > k) {
          EXPECT_LT(std::abs(to_std(entry)), 1e-13);
        } else if (j % 3 == k) {
          EXPECT_GT(entry.re, 0.1);
          EXPECT_LT(std::abs(entry.im), 1e-13);
        }
      }
  }
}

TEST(ReferenceMultigridCoarse, operator_is_the_galerkin_product) {
  const Coarsened& s = coarsened();
  const DenseMatrix G = galerkin(*s.D, s.P, s.D_c->size());
  EXPECT_LT(largest(test::dense_matrix(s.D_c->size(), map_of(*s.D_c)) - G), 1e-13);
  EXPECT_LT(largest(test::to_dense(s.D_c->dense()) - G), 1e-13);
  // There is one leg where the coarse extent is 4, and the sum of both where it is 2.
  const auto block_of = [&](int64_t X, int64_t Y) { return DenseMatrix(G.block(6 * X, 6 * Y, 6, 6)); };
  for (int64_t X = 0; X < s.D_c->volume(); ++X) {
    EXPECT_LT(largest(block_of(X, X) - test::to_dense(s.D_c->self(X))), 1e-13);
    for (int mu = 0; mu < Nd; ++mu) {
      const int64_t Y = s.D_c->neighbour_of(X, forward(mu));
      const DenseMatrix F = test::to_dense(s.D_c->forward_leg(X, mu)),
                        B = test::to_dense(s.D_c->leg_matrix(X, backward(mu)));
      EXPECT_GT(F.norm(), 0.1);
      EXPECT_LT(largest(block_of(X, Y) - (mu == 0 ? F : DenseMatrix(F + B))), 1e-13);
    }
  }
}

/// The relation gamma5 D_c(mu, rho) gamma5 = D_c(-mu, -rho)^dagger holds.
TEST(ReferenceMultigridCoarse, operator_is_gamma5_hermitian) {
  const Coarsened& s = coarsened();
  const CoarseOperator plain = s.D_c->shifted(0, -all_wilson_options().twisted_mass, -0.3);
  const DenseMatrix Q =
      test::dense_matrix(plain.size(), [&](const LevelVector& v) { return gamma5_times(6, plain.apply(v)); });
  EXPECT_LT(largest(Q - Q.adjoint()), 1e-13);
}

TEST(ReferenceMultigridCoarse, shifts_are_exact) {
  const Coarsened& s = coarsened();
  WilsonParameters p = all_wilson_options();
  p.mass += 0.25;
  p.twisted_mass = -0.4;
  const CoarseOperator expected(*random_level(s.L, 21, p, 0.7), s.P);
  const CoarseOperator found = s.D_c->shifted(0.25, -0.4 - all_wilson_options().twisted_mass, 0.4);
  EXPECT_LT(largest(test::to_dense(found.dense()) - test::to_dense(expected.dense())), 1e-13);
  EXPECT_GT(largest(test::to_dense(found.dense()) - test::to_dense(s.D_c->dense())), 0.1);
}

TEST(ReferenceMultigridCoarse, correction_is_a_projector_that_removes_the_range_of_P) {
  const Coarsened& s = coarsened();
  const LevelMap solve = exact_solver(*s.D_c);
  const auto C = [&](const LevelVector& v) {
    return difference(v, s.P.prolong(solve(s.P.restrict(s.D->apply(v)))));
  };
  const LevelVector coarse = test::random_level_vector(s.D_c->size(), 25);
  EXPECT_LT(norm2(C(s.P.prolong(coarse))), 1e-24 * norm2(coarse));
  const LevelVector once = C(test::random_level_vector(s.D->size(), 26));
  EXPECT_LT(relative_error(C(once), once), 1e-12);
}

/// With as many vectors as an aggregate has components the coarse lattice sees all of the fine one.
TEST(ReferenceMultigridCoarse, square_prolongator_solves_directly) {
  const auto D = random_level({4, 2, 2, 2}, 27, wilson_clover(-0.3, 1.2));
  const TwoGrid two_grid(D, {2, 2, 1, 1}, test::random_level_vectors(D->size(), 24, 28),
                         [](LevelVector&, const LevelVector&) {});
  EXPECT_EQ(two_grid.coarse().size(), D->size());
  const LevelVector b = test::random_level_vector(D->size(), 29);
  EXPECT_LT(relative_error(D->apply(two_grid.cycle(b)), b), 1e-11);
}

TEST(ReferenceMultigridCoarse, operator_is_gauge_invariant) {
  const Coord L{4, 4, 2, 4};
  const Gauge U = test::random_gauge(L, 31, 1.0);
  const auto g = test::random_transformation(L, 32);
  const Blocks aggregates(L, {2, 2, 2, 2});
  auto vectors = test::random_level_vectors(size_t(12 * product(L)), 3, 33);
  const CoarseOperator plain(WilsonLevel(WilsonOperator(U, all_wilson_options())), {aggregates, 12, vectors});
  for (auto& v : vectors) {
    SpinorVector psi = to_spinors(v);
    for (size_t x = 0; x < psi.size(); ++x) psi[x] = g[x] * psi[x];
    v = to_level(psi);
  }
  const CoarseOperator rotated(WilsonLevel(WilsonOperator(gauge_transformed(U, g), all_wilson_options())),
                               {aggregates, 12, vectors});
  EXPECT_LT(largest(test::to_dense(plain.dense()) - test::to_dense(rotated.dense())), 1e-13);
}

/// A translation by one aggregate permutes the coarse sites.
TEST(ReferenceMultigridCoarse, operator_follows_translations) {
  const Coord L{8, 2, 2, 4}, block{2, 1, 1, 2};
  const int mu = 0;
  const auto moved = [&](int64_t x, int distance, const Coord& extents) {
    Coord at = site_coord(x, extents);
    at[mu] = (at[mu] + distance) % extents[mu];
    return site_index(at, extents);
  };
  const Gauge U = test::random_gauge(L, 34, 1.0);
  Gauge V = U;
  const auto vectors = test::random_level_vectors(size_t(12 * product(L)), 4, 35);
  auto moved_vectors = vectors;
  for (int64_t x = 0; x < product(L); ++x) {
    const int64_t y = moved(x, block[mu], L);
    for (int nu = 0; nu < Nd; ++nu) V.link(y, nu) = U.link(x, nu);
    for (size_t k = 0; k < vectors.size(); ++k)
      for (int i = 0; i < 12; ++i) moved_vectors[k][size_t(12 * y + i)] = vectors[k][size_t(12 * x + i)];
  }
  const WilsonParameters p = wilson_clover(0.1, 1.1, {1.0, 1.0, 1.0, -1.0});
  const Blocks aggregates(L, block);
  const CoarseOperator here(WilsonLevel(WilsonOperator(U, p)), {aggregates, 12, vectors});
  const CoarseOperator there(WilsonLevel(WilsonOperator(V, p)), {aggregates, 12, moved_vectors});
  for (int64_t X = 0; X < here.volume(); ++X) {
    const int64_t Y = moved(X, 1, here.extents());
    EXPECT_LT(largest(test::to_dense(here.self(X)) - test::to_dense(there.self(Y))), 1e-14);
    for (int nu = 0; nu < Nd; ++nu)
      EXPECT_LT(largest(test::to_dense(here.forward_leg(X, nu)) - test::to_dense(there.forward_leg(Y, nu))),
                1e-14);
  }
}

/// On unit links the vectors e(s, c) + e(s+2, c), constant in space, give D_c = m + D_W(m = 0) / b exactly,
/// where D_W is the Wilson operator of the coarse lattice with the same boundary phases.
TEST(ReferenceMultigridCoarse, free_quarks_stay_free_quarks) {
  const double mass = 0.13;
  for (const int b : {2, 4}) {
    const Coord L{2 * b, b == 2 ? 8 : 4, 2 * b, 2 * b}, coarse{2, L[1] / b, 2, 2};
    std::vector<LevelVector> constant(6, LevelVector(size_t(12 * product(L)), Complex<double>{0, 0}));
    for (size_t i = 0; i < constant[0].size(); ++i) constant[i % 6][i] = {1, 0};
    const WilsonLevel D(WilsonOperator(unit_gauge(L), wilson_clover(mass, 1.5)));
    const CoarseOperator D_c(D, {Blocks(L, {b, b, b, b}), 12, constant});
    const DenseMatrix D_W =
        test::to_dense(WilsonLevel(WilsonOperator(unit_gauge(coarse), wilson_clover(0, 0))).dense());
    const DenseMatrix expected = mass * DenseMatrix::Identity(D_W.rows(), D_W.cols()) + D_W / double(b);
    EXPECT_LT(largest(test::to_dense(D_c.dense()) - expected), 1e-14) << "blocks of " << b;
  }
}

TEST(ReferenceMultigridCoarse, second_coarsening_is_galerkin_and_keeps_chirality) {
  const Coarsened& s = coarsened();
  const Prolongator P(Blocks(s.D_c->extents(), {2, 2, 2, 2}), 6,
                      test::random_level_vectors(s.D_c->size(), 5, 41));
  const CoarseOperator D_cc(*s.D_c, P);
  EXPECT_EQ(D_cc.extents(), (Coord{2, 1, 1, 1}));
  EXPECT_EQ(D_cc.components(), 10);
  const DenseMatrix expected = test::dense_matrix(D_cc.size(), [&](const LevelVector& v) {
    return P.restrict(s.P.restrict(s.D->apply(s.P.prolong(P.prolong(v)))));
  });
  EXPECT_LT(largest(test::to_dense(D_cc.dense()) - expected), 1e-13);
  // Both coarse levels have the same shifts.
  const CoarseOperator shifted(s.D_c->shifted(0.2, 0.1, -0.5), P);
  EXPECT_LT(largest(test::to_dense(D_cc.shifted(0.2, 0.1, -0.5).dense()) - test::to_dense(shifted.dense())),
            1e-13);
}

TEST(ReferenceMultigridCoarse, refuses_vectors_that_make_no_prolongator) {
  const Coord L{4, 2, 2, 2};
  const Blocks aggregates(L, {2, 1, 1, 1});  // there are 12 components of each chirality
  const size_t size = size_t(12 * product(L));
  EXPECT_NO_THROW(Prolongator(aggregates, 12, test::random_level_vectors(size, 12, 51)));
  EXPECT_THROW(Prolongator(aggregates, 12, test::random_level_vectors(size, 13, 51)), BadArgument);
  EXPECT_THROW(Prolongator(aggregates, 12, {}), BadArgument);
  EXPECT_THROW(Prolongator(aggregates, 12, {test::random_level_vector(size / 2, 51)}), BadArgument);
  auto vectors = test::random_level_vectors(size, 3, 52);
  vectors[2] = scaled({0.3, -2}, vectors[0]);
  EXPECT_THROW(Prolongator(aggregates, 12, vectors), NumericError);
  vectors[2] = LevelVector(size, Complex<double>{0, 0});
  EXPECT_THROW(Prolongator(aggregates, 12, vectors), NumericError);
  const auto other = random_level({2, 2, 2, 2}, 53, wilson_clover(-0.3, 1.2));
  EXPECT_THROW(CoarseOperator(*other, {aggregates, 12, test::random_level_vectors(size, 2, 54)}),
               BadArgument);
}

// ---- cycles ----

TEST(ReferenceMultigridCycle, coarse_gcr_agrees_with_the_exact_solve) {
  const Coord L{8, 4, 4, 4}, block{2, 2, 2, 2};
  const auto D = random_level(L, 61, wilson_clover(-0.3, 1.2));
  const auto vectors = test::random_level_vectors(D->size(), 3, 62);
  const Smoother smoother =
      schwarz_smoother(std::make_shared<const Schwarz>(D, block, BlockSolver::mr_even_odd), 2);
  const LevelVector r = test::random_level_vector(D->size(), 63);
  const LevelVector exact = TwoGrid(D, block, vectors, smoother).cycle(r);
  EXPECT_LT(
      relative_error(TwoGrid(D, block, vectors, smoother, gcr_coarse_solver(1e-13, 200)).cycle(r), exact),
      1e-11);
  // There are three levels: GCR on the coarse lattice has a cycle of its own, down to one site.
  const CoarseSolver next_level = [&](const std::shared_ptr<const CoarseOperator>& D_c) -> LevelMap {
    const auto sap = std::make_shared<const Schwarz>(D_c, Coord{2, 1, 1, 1}, BlockSolver::mr_full, 3);
    const auto next = std::make_shared<const TwoGrid>(
        D_c, Coord{2, 2, 2, 2}, test::random_level_vectors(D_c->size(), 4, 64), schwarz_smoother(sap, 1));
    return [=](const LevelVector& b) {
      const LevelMap K = [&](const LevelVector& v) { return next->cycle(v); };
      const GcrSolution solution = flexible_gcr(map_of(*D_c), b, 1e-13, 100, K);
      EXPECT_LT(solution.residuals.size(), 40u);
      return solution.x;
    };
  };
  EXPECT_LT(relative_error(TwoGrid(D, block, vectors, smoother, next_level).cycle(r), exact), 1e-11);
}

/// The smoother of this two-grid cycle is even-odd MR on the whole lattice, as the product has it first.
TEST(ReferenceMultigridCycle, gcr_needs_fewer_iterations_with_the_cycle) {
  const Coord L{4, 4, 4, 4};
  const auto D = random_level(L, 71, wilson_clover(-0.85, 1.0));
  const auto sap = std::make_shared<const Schwarz>(D, Coord{2, 2, 2, 2}, BlockSolver::mr_even_odd);
  const auto mr = std::make_shared<const Schwarz>(D, L, BlockSolver::mr_even_odd, 8);
  const TwoGrid start(D, {2, 2, 2, 2},
                      initial_test_vectors(*sap, test::random_level_vectors(D->size(), 6, 72)),
                      schwarz_smoother(mr, 1));
  const TwoGrid two_grid = start.after_sweep();
  for (const LevelVector& v : two_grid.test_vectors()) EXPECT_NEAR(norm2(v), 1, rounding(double(v.size())));
  const LevelVector b = test::random_level_vector(D->size(), 73);
  const auto iterations = [&](const LevelMap& K) {
    const GcrSolution solution = flexible_gcr(map_of(*D), b, 1e-10, 200, K);
    EXPECT_LT(relative_error(D->apply(solution.x), b), 1.1e-10);
    return int(solution.residuals.size());
  };
  const int plain = iterations({}),
            smoothed = iterations([&](const LevelVector&r) { return mr->from_zero(r, 1); }),
            cycled = iterations([&](const LevelVector&r) { return two_grid.cycle(r); });
  RecordProperty("iterations", message(plain, " ", smoothed, " ", cycled));
  EXPECT_LT(smoothed, plain);
  EXPECT_LT(cycled, smoothed);
}

TEST(ReferenceMultigridCycle, gcr_of_zero_is_zero) {
  const auto D = random_level({2, 2, 2, 2}, 81, wilson_clover(-0.3, 1.2));
  const LevelVector zero(D->size(), Complex<double>{0, 0});
  EXPECT_EQ(norm2(flexible_gcr(map_of(*D), zero, 1e-10, 10).x), 0.0);
  EXPECT_TRUE(flexible_gcr(map_of(*D), zero, 1e-10, 10).residuals.empty());
}

}  // namespace in_test_reference_multigrid_coarse
}  // namespace trellis::reference
