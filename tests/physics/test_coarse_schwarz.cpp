/// The Schwarz method solves boxes of coarse sites that nothing joins exactly, and multigrid works with it.
#include "trellis/multigrid/coarse_schwarz.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/cut_coarse_links.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/multigrid/multigrid.hpp"
#include "trellis/multigrid/noise.hpp"
#include "trellis/multigrid/split_matrix.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {
namespace in_test_coarse_schwarz {

constexpr Coord extents{8, 8, 4, 4}, block{2, 2, 2, 2};

WilsonOperator make_operator(double twist = 0) {
  WilsonParams params{.mass = -0.1, .csw_spatial = 1.3, .csw_temporal = 1.3};
  params.twisted_mass = twist;
  params.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 7, 0.4));
  return {U, params};
}

MultigridParams params_in(Precision storage) {
  MultigridParams p;
  p.block = block;
  p.vectors = 6;
  p.sweeps = 0;
  p.storage = storage;
  return p;
}

/// Returns |S_B z - r| / |r| of z = S_B^-1 r, all boxes together.
double error_of(const CoarseMatrix& D, const Coord& box) {
  const CoarseBoxes boxes(D, box);
  const CoarseSchur S(test::without_legs_between(D, box), SchurForm::symmetric);
  SpinorField r = S.make_field(2), z = SpinorField::like(r), image = SpinorField::like(r);
  fill_with_noise(r, 3, 0, all_columns(r));
  boxes.apply(z, r);
  S.apply(image, z);
  combine(image, 1.0, r, -1.0, image);
  return std::sqrt(norm2_each(image)[1] / norm2_each(r)[1]);
}

TEST(CoarseSchwarz, boxes_that_nothing_joins_are_solved_for_exactly) {
  for (const double twist : {0.0, 0.1}) {
    const auto in_double = Multigrid::make(make_operator(twist), params_in(Precision::double_precision));
    const auto in_float = Multigrid::make(make_operator(twist), params_in(Precision::single_precision));
    // Boxes that span a direction have both legs at their edge inside.
    for (const Coord& box : {Coord{2, 2, 2, 2}, Coord{4, 2, 2, 2}, Coord{2, 4, 2, 2}}) {
      EXPECT_LT(error_of(*in_double->coarse(), box), 1e-13) << to_string(box);
      EXPECT_LT(error_of(*in_float->coarse(), box), 1e-5) << to_string(box);
    }
  }
}

TEST(CoarseSchwarz, a_box_that_is_the_lattice_solves_at_once) {
  MultigridParams p = params_in(Precision::double_precision);
  p.block = {4, 4, 2, 2};
  const auto multigrid = Multigrid::make(make_operator(), p);
  EXPECT_LT(error_of(*multigrid->coarse(), {2, 2, 2, 2}), 1e-13);
  const CoarseSchur S(multigrid->coarse(), SchurForm::symmetric);
  SpinorField r = S.make_field(1), z = SpinorField::like(r), image = SpinorField::like(r);
  fill_with_noise(r, 3, 0, all_columns(r));
  SolveCost cost;
  const OperatorCopies copies(S);
  SolverSpec(CoarseSchwarzSpec{})->inside(copies, 1)->apply(z, r, cost);
  S.apply(image, z);
  combine(image, 1.0, r, -1.0, image);
  EXPECT_LT(norm2_each(image)[0], 1e-26 * norm2_each(r)[0]);
  EXPECT_GT(cost.flops, 0);
  EXPECT_EQ(cost.sums, 0);
  EXPECT_EQ(cost.message_count(), 0);
}

/// GPUs have a thread for each row, and CPUs have several rows in a register.
TEST(CoarseSchwarz, the_layout_of_gpus_has_the_same_bits) {
  const auto multigrid = Multigrid::make(make_operator(), params_in(Precision::single_precision));
  const CoarseMatrix& D = *multigrid->coarse();
  const auto moved = [](const SiteField& field) {
    FieldSpec spec = field.spec();
    spec.backend = Backend::gpu_emulated;
    SiteField out(field.lattice_ptr(), spec);
    convert(out, field);
    return out;
  };
  const CoarseMatrix emulated(moved(D.links()), moved(D.diagonal()), Precision::single_precision);
  SpinorField r(D.lattice_ptr(), D.field_spec(Subset::even, 3)), z = SpinorField::like(r);
  fill_with_noise(r, 3, 0, all_columns(r));
  SpinorField there = moved(r), solved = SpinorField::like(there), back = SpinorField::like(r);
  CoarseBoxes(D, {2, 2, 2, 2}).apply(z, r);
  CoarseBoxes(emulated, {2, 2, 2, 2}).apply(solved, there);
  convert(back, solved);
  for (int column = 0; column < 3; ++column)
    EXPECT_TRUE(test::canonical_part(back, column) == test::canonical_part(z, column)) << column;
}

TEST(CoarseSchwarz, multigrid_with_it_solves_in_fewer_coarse_steps) {
  const WilsonOperator M = make_operator();
  SpinorField b = M.make_field(2), x = SpinorField::like(b);
  for (int r = 0; r < 2; ++r) test::to_product(b, test::random_spinors(extents, uint64_t(32 + r)), r);
  std::map<CoarseSolver, int64_t> sums;
  for (const CoarseSolver solver : {CoarseSolver::gcr, CoarseSolver::schwarz})
    for (const Precision storage : {Precision::single_precision, Precision::half_precision}) {
      MultigridParams p = params_in(Precision::single_precision);
      p.coarse_solver = solver;
      p.coarse_storage = storage;
      p.coarse_modes = 4;
      const auto multigrid = Multigrid::make(M, p);
      set_zero(x);
      const SolveReport report = solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, x, b);
      EXPECT_TRUE(report.converged) << report.summary();
      EXPECT_LE(report.largest_residual(), 1e-10);
      sums[solver] = multigrid->profile().coarse.cost.sums;
    }
  EXPECT_LT(sums[CoarseSolver::schwarz], sums[CoarseSolver::gcr]);
}

/// The images of low modes give what applications of S give.
TEST(CoarseModes, images_deflate_as_applications_do) {
  MultigridParams p = params_in(Precision::double_precision);
  p.coarse_modes = 5;
  const auto multigrid = Multigrid::make(make_operator(), p);
  const Eigenvectors& modes = *multigrid->coarse_modes();
  const CoarseSchur S(multigrid->coarse(), SchurForm::symmetric);
  SpinorField b = S.make_field(3), x = SpinorField::like(b), expected = SpinorField::like(b),
              r = SpinorField::like(b), image = SpinorField::like(b);
  fill_with_noise(b, 3, 0, all_columns(b));
  SolveCost by_images, by_applications;
  modes.deflate_by_images(x, r, b, by_images);
  modes.deflate(S, expected, b, by_applications);
  S.apply(image, x);
  combine(image, 1.0, b, -1.0, image);
  combine(image, 1.0, image, -1.0, r);
  combine(expected, 1.0, expected, -1.0, x);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(norm2_each(x)[i], 0);
    EXPECT_LT(norm2_each(expected)[i], 1e-24 * norm2_each(x)[i]);
    EXPECT_LT(norm2_each(image)[i], 1e-24 * norm2_each(b)[i]);
  }
  EXPECT_EQ(by_images.sums, 1);
  EXPECT_LT(by_images.flops, by_applications.flops / 2);
}

TEST(CoarseSchwarz, what_it_does_not_serve_is_refused) {
  const Geometry g({4, 4, 4, 4}, ProcessGrid({4, 1, 1, 1}));
  EXPECT_NE(coarse_box_error(g, {2, 2, 2, 2}, 20).find("divides the 1 coarse sites"), std::string::npos);
  EXPECT_NE(coarse_box_error(g, {2, 2, 2, 2}, 20).find("coarse_ranks"), std::string::npos);
  EXPECT_EQ(coarse_box_error(Geometry({4, 4, 4, 4}), {2, 2, 2, 2}, 96), "");
  EXPECT_NE(coarse_box_error(Geometry({4, 4, 4, 4}), {4, 4, 4, 4}, 96).find("room for"), std::string::npos);
  EXPECT_NE(coarse_box_error(Geometry({4, 4, 4, 4}), {1, 2, 2, 2}, 20).find("even"), std::string::npos);
  const WilsonOperator M = make_operator();
  EXPECT_THROW(SolverSpec(CoarseSchwarzSpec{})->inside(OperatorCopies(M), 1), BadArgument);
  EXPECT_THROW(coarse_solver_by_name("cg"), BadArgument);
}

/// One matrix needs its pivots, and one has no inverse.
TEST(SplitMatrix, inverses_are_inverses_and_singular_ones_say_so) {
  const int n = 7;
  SplitMatrix A(n), product(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      A.re_row(i)[j] = i == j ? 0.0 : std::sin(1.0 + i * n + j);
      A.im_row(i)[j] = i == j ? 0.0 : std::cos(2.0 + 3 * i * n + j);
    }
  const SplitInverse found = inverse_of(A);
  add_product(product, 1.0, A, found.inverse);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      EXPECT_NEAR(product.re_row(i)[j], i == j ? 1 : 0, 1e-13);
      EXPECT_NEAR(product.im_row(i)[j], 0, 1e-13);
    }
  EXPECT_TRUE(std::isfinite(found.condition));
  for (int j = 0; j < n; ++j) A.re_row(3)[j] = A.im_row(3)[j] = 0;
  EXPECT_TRUE(std::isinf(inverse_of(A).condition));
}

}  // namespace in_test_coarse_schwarz
}  // namespace trellis
