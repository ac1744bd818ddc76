/// Multigrid of two levels has P, D_c = P^dagger D P and the cycle that their definitions give.
#include "trellis/multigrid/multigrid.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/multigrid/coarse_operator.hpp"
#include "tests/support/coarse_fields.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/multigrid/galerkin.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/solver/eigen/block_lanczos.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_multigrid {

using test::fill_random;
using test::gamma5;
using test::largest_difference;

struct Case {
  const char* name;
  WilsonParams params;
  Coord extents{4, 4, 4, 4}, block{2, 2, 2, 2};
};

std::vector<Case> cases() {
  std::vector<Case> all(4);
  all[0].name = "Wilson";
  all[0].params.mass = -0.3;
  all[1].name = "clover";
  all[1].params = {.mass = -0.3, .csw_spatial = 1.3, .csw_temporal = 1.3};
  all[2].name = "anisotropic twisted clover, phases";
  all[2].params = {
      .mass = -0.2, .csw_spatial = 1.3, .csw_temporal = 0.9, .nu = 0.9, .xi0 = 2.0, .twisted_mass = 0.1};
  all[2].params.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  all[3].name = "unequal extents";
  all[3].params = {.mass = -0.1, .csw_spatial = 1.0, .csw_temporal = 1.0};
  all[3].extents = {4, 8, 4, 12};
  all[3].block = {2, 4, 2, 3};
  return all;
}

class MultigridParts : public testing::TestWithParam<Precision> {
 protected:
  double tolerance() const { return GetParam() == Precision::double_precision ? 1e-12 : 1e-5; }
  struct Parts {
    std::shared_ptr<WilsonOperator> M;
    std::unique_ptr<Prolongator> P;
    CoarseMatrixPtr coarse;
  };
  Parts parts(const Case& c, int vectors, int lanes = 0, Backend backend = Backend::cpu) const {
    const GaugeField U = test::to_product(make_lattice(c.extents), test::random_gauge(c.extents, 7, 0.4));
    KernelChoice choice{.precision = GetParam(), .backend = backend, .lanes = lanes};
    Parts parts;
    for (const int fewer : {lanes, 8, 4, 1}) {
      choice.lanes = fewer;
      parts.M = std::make_shared<WilsonOperator>(U, c.params, choice);
      if (Aggregates::fit(parts.M->make_field().layout(), c.block)) break;
    }
    SpinorField vectors_of_test = parts.M->make_field(vectors);
    fill_random(vectors_of_test, 5);
    parts.P = std::make_unique<Prolongator>(vectors_of_test, c.block, vectors);
    copy(parts.P->columns(), vectors_of_test);
    EXPECT_GT(parts.P->orthonormalise(1e-8), 1e-8);
    parts.coarse = galerkin_product(*parts.M->matrix(), *parts.P);
    return parts;
  }
};

/// The outermost solves are in double.
class MultigridPartsInDouble : public MultigridParts {};

TEST_P(MultigridParts, the_prolongator_is_an_isometry_that_commutes_with_gamma5) {
  for (const Case& c : cases()) {
    const Parts p = parts(c, 5);
    SiteField coarse = p.P->make_coarse_field(3), back = SiteField::like(coarse);
    fill_random(coarse, 11);
    SpinorField fine = p.M->make_field(3), of_turned = SpinorField::like(fine);
    p.P->prolong_to(fine, coarse);
    p.P->restrict_to(back, fine);
    EXPECT_LT(largest_difference(coarse, back), tolerance()) << c.name;
    p.P->prolong_to(of_turned, gamma5(coarse));
    EXPECT_EQ(largest_difference(gamma5(fine), of_turned), 0) << c.name;
  }
}

TEST_P(MultigridParts, the_coarse_operator_is_the_galerkin_product) {
  for (const Case& c : cases()) {
    const Parts p = parts(c, 5);
    const CoarseOperator D_c(p.coarse);
    SiteField in = p.P->make_coarse_field(2), out = SiteField::like(in), expected = SiteField::like(in);
    fill_random(in, 12);
    SpinorField fine = p.M->make_field(2), image = SpinorField::like(fine);
    p.P->prolong_to(fine, in);
    p.M->apply(image, fine);
    p.P->restrict_to(expected, image);
    D_c.apply(out, in);
    EXPECT_LT(largest_difference(expected, out), 3 * tolerance()) << c.name;
    p.M->apply_dagger(image, fine);
    p.P->restrict_to(expected, image);
    D_c.apply_dagger(out, in);
    EXPECT_LT(largest_difference(expected, out), 3 * tolerance()) << c.name;
  }
}

TEST_P(MultigridParts, shifts_of_both_masses_are_exact) {
  for (const Case& c : cases()) {
    const Parts p = parts(c, 4);
    Case other = c;
    other.params.mass += 0.07;
    other.params.twisted_mass -= 0.3;
    const Parts q = parts(other, 4);
    const CoarseOperator shifted(p.coarse->shifted(0.07, -0.3)), direct(q.coarse);
    SiteField in = p.P->make_coarse_field(1), a = SiteField::like(in), b(q.P->coarse_lattice(), in.spec());
    fill_random(in, 13);
    SiteField in_b = b;
    fill_random(in_b, 13);
    shifted.apply(a, in);
    direct.apply(b, in_b);
    std::vector<double> x(size_t(in.reals())), y(size_t(in.reals()));
    for (int64_t i = 0; i < in.geometry().local_volume(); ++i) {
      const SitePosition at = in.layout().position(site_coord(i, in.geometry().local()));
      a.get_site(at, 0, x.data());
      b.get_site(at, 0, y.data());
      for (size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], 30 * tolerance()) << c.name;
    }
  }
}

TEST_P(MultigridPartsInDouble, even_odd_solves_of_the_coarse_operator_solve_it) {
  for (const Case& c : cases())
    for (const SchurForm form : {SchurForm::symmetric, SchurForm::asymmetric}) {
      const Parts p = parts(c, 4);
      const CoarseOperator D_c(p.coarse);
      SiteField b = p.P->make_coarse_field(2), x = SiteField::like(b);
      fill_random(b, 14);
      const SolveReport report =
          solve(EvenOddSpec{GcrSpec{.tolerance = 1e-9, .fallback = false}, form}, D_c, x, b);
      EXPECT_TRUE(report.converged) << c.name << ": " << report.summary();
      EXPECT_LT(relative_residual(D_c, x, b)[0], 1e-9) << c.name;
    }
}

TEST_P(MultigridPartsInDouble,
       with_as_many_vectors_as_a_block_has_numbers_the_coarse_solution_is_the_fine_one) {
  Case c = cases()[1];
  c.params.mass = 0.3;
  const Parts p = parts(c, 96);
  SpinorField b = p.M->make_field(1), x = SpinorField::like(b);
  fill_random(b, 16);
  SiteField coarse_b = p.P->make_coarse_field(1), coarse_x = SiteField::like(coarse_b);
  p.P->restrict_to(coarse_b, b);
  EXPECT_TRUE(solve(EvenOddSpec{GcrSpec{.tolerance = 1e-11}}, CoarseOperator(p.coarse), coarse_x, coarse_b)
                  .converged);
  p.P->prolong_to(x, coarse_x);
  EXPECT_LT(relative_residual(*p.M, x, b)[0], 1e-10);
}

/// Returns every number of a field, in the order of sites.
std::vector<double> numbers(const SiteField& f) {
  std::vector<double> all;
  std::vector<double> reals(size_t(f.reals()));
  for (int64_t i = 0; i < f.geometry().local_volume(); ++i) {
    const SitePosition at = f.layout().position(site_coord(i, f.geometry().local()));
    for (int slot = 0; slot < f.slots(); ++slot) {
      f.get_site(at, slot, reals.data());
      all.insert(all.end(), reals.begin(), reals.end());
    }
  }
  return all;
}

TEST_P(MultigridParts, bits_do_not_depend_on_lanes_or_layout) {
  Case c = cases()[1];
  c.extents = {8, 8, 4, 8};
  std::vector<double> expected;
  for (const auto& [backend, lanes] :
       {std::pair{Backend::cpu, 1}, {Backend::cpu, 4}, {Backend::cpu, 8}, {Backend::gpu_emulated, 1}}) {
    const Parts p = parts(c, 5, lanes, backend);
    ASSERT_EQ(p.M->make_field().layout().lanes(), lanes);
    const CoarseOperator D_c(p.coarse);
    SiteField in = p.P->make_coarse_field(9), out = SiteField::like(in), of_dagger = SiteField::like(in);
    fill_random(in, 15);
    SpinorField fine = p.M->make_field(9);
    p.P->prolong_to(fine, in);
    p.P->restrict_to(in, fine);
    D_c.apply(out, in);
    D_c.apply_dagger(of_dagger, in);
    std::vector<double> all = numbers(fine);
    for (const SiteField* f : {&in, &out, &of_dagger})
      for (const double v : numbers(*f)) all.push_back(v);
    if (expected.empty()) expected = all;
    EXPECT_TRUE(expected == all) << name_of(backend) << ", " << lanes << " lanes";
  }
}

TEST(Multigrid, setups_and_solves_with_mr_do_not_depend_on_the_layout) {
  const Coord extents{8, 4, 4, 8};
  const GaugeField U = test::to_product(make_lattice(extents), test::random_gauge(extents, 31, 0.3));
  const WilsonParams params{.mass = 0.05, .csw_spatial = 1.0, .csw_temporal = 1.0};
  MultigridParams p;
  p.block = {2, 2, 2, 2};
  p.vectors = 6;
  p.sweeps = 1;
  std::vector<double> expected;
  for (const auto& [backend, lanes] :
       {std::pair{Backend::cpu, 1}, {Backend::cpu, 4}, {Backend::gpu_emulated, 0}}) {
    const WilsonOperator M(U, params, {.backend = backend, .lanes = lanes});
    p.smoother = backend == Backend::cpu ? MultigridSmoother::minimal_residual : MultigridSmoother::by_rule;
    const MultigridPtr multigrid = Multigrid::make(M, p);
    EXPECT_EQ(multigrid->params().smoother, MultigridSmoother::minimal_residual);
    SpinorField b = M.make_field(2), x = SpinorField::like(b);
    for (int r = 0; r < 2; ++r) test::to_product(b, test::random_spinors(extents, uint64_t(32 + r)), r);
    const SolveReport report =
        solve(MultigridSpec{.multigrid = multigrid, .tolerance = 1e-9, .fallback = false}, M, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    std::vector<double> all = multigrid->report().residual;
    for (const SiteField* f : {&*multigrid->coefficients(), static_cast<const SiteField*>(&x)})
      for (const double v : numbers(*f)) all.push_back(v);
    if (expected.empty()) expected = all;
    EXPECT_TRUE(expected == all) << name_of(backend) << ", " << lanes << " lanes";
  }
}

TEST(Multigrid, every_coarse_matrix_is_that_of_the_reference) {
  for (const Case& c : cases()) {
    const int vectors = 4;
    const reference::Gauge U = test::random_gauge(c.extents, 8, 0.5);
    const WilsonOperator M(test::to_product(make_lattice(c.extents), U, 1), c.params, {.lanes = 1});
    Prolongator P(M.make_field(vectors), c.block, vectors);
    std::vector<reference::LevelVector> of_reference;
    for (int j = 0; j < vectors; ++j) {
      const reference::SpinorVector v = test::random_spinors(c.extents, uint64_t(40 + j));
      test::to_product(P.columns(), v, j);
      of_reference.push_back(reference::to_level(v));
    }
    EXPECT_GT(P.orthonormalise(1e-8), 1e-8);
    const CoarseMatrixPtr coarse = galerkin_product(*M.matrix(), P);
    reference::WilsonParameters params;
    params.mass = c.params.mass;
    params.boundary = c.params.boundary;
    params.c_r = c.params.csw_spatial;
    params.c_t = c.params.csw_temporal;
    params.nu = c.params.nu;
    params.xi0 = c.params.xi0;
    params.twisted_mass = c.params.twisted_mass;
    const reference::CoarseOperator expected(
        reference::WilsonLevel(reference::WilsonOperator(U, params)),
        reference::Prolongator(reference::Blocks(c.extents, c.block), 12, of_reference));
    std::vector<double> reals(size_t(coarse->diagonal().reals()));
    for (int64_t X = 0; X < expected.volume(); ++X) {
      const SitePosition at = coarse->links().layout().position(site_coord(X, expected.extents()));
      coarse->diagonal().get_site(at, 0, reals.data());
      EXPECT_LT(largest_difference(reals, expected.self(X)), 1e-12) << c.name << ", site " << X;
      for (int mu = 0; mu < Nd; ++mu) {
        coarse->links().get_site(at, mu, reals.data());
        EXPECT_LT(largest_difference(reals, expected.forward_leg(X, mu)), 1e-12)
            << c.name << ", site " << X << ", mu " << mu;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(in_double, MultigridPartsInDouble, testing::Values(Precision::double_precision));
INSTANTIATE_TEST_SUITE_P(in_both_precisions, MultigridParts,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Returns a thermalised quenched field: rough links have no modes that blocks could share.
GaugeField quenched(const Coord& extents, double beta, int sweeps) {
  GaugeField U(make_lattice(extents));
  set_hot(U, 5);
  Heatbath heatbath({.beta = beta, .overrelaxation_sweeps = 4});
  for (int i = 0; i < sweeps; ++i) heatbath.update(U, 5, 0, uint32_t(i));
  return U;
}

WilsonParams clover(double kappa) {
  return {.mass = kappa_to_mass(kappa), .csw_spatial = 1.769, .csw_temporal = 1.769};
}

class MultigridSolve : public testing::Test {
 protected:
  static const GaugeField& field() {
    static const GaugeField U = quenched({8, 8, 8, 8}, 6.0, 30);
    return U;
  }
  static MultigridParams params() {
    MultigridParams p;
    p.block = {4, 4, 4, 4};
    p.vectors = 20;
    p.sweeps = 2;
    return p;
  }
};

TEST_F(MultigridSolve, takes_few_iterations_and_every_residual_is_true) {
  const WilsonOperator heavy(field(), clover(0.1320));
  const MultigridPtr of_heavy = Multigrid::make(heavy, params());
  std::vector<int> iterations, of_bicgstab;
  for (const double kappa : {0.1320, 0.1350}) {
    const WilsonOperator M(field(), clover(kappa));
    const MultigridPtr multigrid = Multigrid::make(M, params());
    SpinorField b = M.make_field(2), x = SpinorField::like(b);
    fill_random(b, 21);
    const SolveReport report = solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    for (const double r : relative_residual(M, x, b)) EXPECT_LE(r, 1e-10);
    iterations.push_back(report.iterations);
    SpinorField y = SpinorField::like(b);
    of_bicgstab.push_back(solve(EvenOddSpec{BicgstabSpec{.tolerance = 1e-10}}, M, y, b).iterations);
    // The vectors of the heavy quark serve the light one, whose coarse operator is shifted.
    SpinorField z = SpinorField::like(b);
    const SolveReport shifted = solve(MultigridSpec{.multigrid = of_heavy, .fallback = false}, M, z, b);
    EXPECT_TRUE(shifted.converged) << shifted.summary();
    EXPECT_LE(shifted.iterations, report.iterations + 8) << "kappa " << kappa;
    EXPECT_LT(largest_difference(x, z), 1e-8);
  }
  // A lattice of 8^4 is too small for light modes: doc/measurements has larger ones.
  for (size_t i = 0; i < iterations.size(); ++i) {
    EXPECT_LE(iterations[i], 20);
    EXPECT_GE(of_bicgstab[i], 5 * iterations[i]);
  }
}

TEST_F(MultigridSolve, sweeps_of_the_setup_improve_the_test_vectors) {
  const WilsonOperator M(field(), clover(0.1350));
  const MultigridPtr multigrid = Multigrid::make(M, params());
  const std::vector<double>& residual = multigrid->report().residual;
  ASSERT_EQ(residual.size(), 3u);
  EXPECT_LT(residual[1], 0.95 * residual[0]);
  EXPECT_LT(multigrid->report().worst_residual, 1);
}

TEST_F(MultigridSolve,
       a_column_has_the_bits_that_it_has_alone_and_twisted_masses_of_both_signs_share_the_vectors) {
  WilsonParams twisted = clover(0.1340);
  twisted.twisted_mass = 0.02;
  const WilsonOperator M(field(), twisted);
  const MultigridPtr multigrid = Multigrid::make(M, params());
  SpinorField b = M.make_field(3), x = SpinorField::like(b);
  fill_random(b, 22);
  EXPECT_TRUE(solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, x, b).converged);
  SpinorField one = M.make_field(1), alone = M.make_field(1), of_batch = M.make_field(1);
  copy_columns(one, 0, b, 1, 1);
  copy_columns(of_batch, 0, x, 1, 1);
  EXPECT_TRUE(solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, alone, one).converged);
  EXPECT_EQ(largest_difference(of_batch, alone), 0);
  twisted.twisted_mass = -0.02;
  const WilsonOperator other(field(), twisted);
  SpinorField y = SpinorField::like(b);
  const SolveReport report = solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, other, y, b);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_LT(report.iterations, 40);
}

TEST_F(MultigridSolve, low_modes_of_the_coarse_operator_are_those_of_lanczos_and_deflate_its_solves) {
  const WilsonOperator M(field(), clover(0.1400));
  MultigridParams p = params();
  p.coarse_modes = 3;
  const MultigridPtr multigrid = Multigrid::make(M, p);
  const Eigenvectors& found = *multigrid->coarse_modes();
  EXPECT_TRUE(found.converged);
  const auto S =
      CoarseOperator(multigrid->coarse()->converted(Precision::double_precision)).schur(SchurForm::symmetric);
  const Eigenvectors expected = lanczos(S, {.count = 3, .tolerance = 1e-10});
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(found.values[k] / expected.values[k], 1, 1e-3) << k;
  SpinorField b = M.make_field(), x = SpinorField::like(b);
  fill_random(b, 23);
  EXPECT_TRUE(solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, x, b).converged);
  const MultigridPtr shifted = multigrid->at(WilsonOperator(field(), clover(0.1380)));
  EXPECT_NE(shifted->coarse_modes()->values.front(), found.values.front());
  p.coarse_modes = MultigridParams::by_rule;  // coarse solves of so small a lattice are short
  EXPECT_EQ(Multigrid::make(M, p)->coarse_modes(), nullptr);
}

TEST_F(MultigridSolve, other_operators_are_refused_with_the_difference) {
  const WilsonOperator M(field(), clover(0.1340));
  const MultigridPtr multigrid = Multigrid::make(M, params());
  GaugeField moved = field();
  heatbath_update(moved, {.beta = 6.0}, 9, 0, 0);
  const WilsonOperator other_links(moved, clover(0.1340)), other_clover(field(), {.mass = -0.3});
  SpinorField b = M.make_field(), x = SpinorField::like(b);
  fill_random(b, 23);
  const auto message_for = [&](const LinearOperator& A, const SolverSpec& spec) {
    SpinorField in = A.make_field(), out = SpinorField::like(in);
    fill_random(in, 23);
    try {
      solve(spec, A, out, in);
    } catch (const BadArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const SolverSpec spec = MultigridSpec{.multigrid = multigrid};
  EXPECT_NE(message_for(other_links, spec).find("other links"), std::string::npos)
      << message_for(other_links, spec);
  EXPECT_NE(message_for(other_clover, spec).find("clover coefficient"), std::string::npos);
  EXPECT_NE(message_for(M, EvenOddSpec{GcrSpec{.preconditioner = spec}}).find("on all sites"),
            std::string::npos);
  const PreparedPtr updated = multigrid->updated(std::make_shared<WilsonOperator>(other_links));
  const auto refreshed = std::dynamic_pointer_cast<const Multigrid>(updated);
  EXPECT_TRUE(solve(MultigridSpec{.multigrid = refreshed, .fallback = false}, other_links, x, b).converged);
}

TEST_F(MultigridSolve, bad_parameters_are_refused_with_what_is_legal) {
  const WilsonOperator M(field(), clover(0.1340));
  const auto message_for = [&](auto&& change) {
    MultigridParams p = params();
    change(p);
    try {
      Multigrid::make(M, p);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(message_for([](auto& p) {
              p.block = {4, 4, 4, 3};
            }).find("legal extents there: 2, 4"),
            std::string::npos);
  EXPECT_NE(message_for([](auto& p) {
              p.block = {8, 4, 4, 4};
            }).find("in the direction x"),
            std::string::npos);
  EXPECT_NE(message_for([](auto& p) { p.vectors = 97; }).find("1 to 96"), std::string::npos);
}

/// An extent of 22 has blocks of 11 alone, and one of 18 has two kinds.
TEST(MultigridBlocks, are_found_on_every_lattice_that_has_some) {
  const Geometry geometry({22, 8, 18, 4});
  EXPECT_EQ(choose_block(geometry), (Coord{11, 4, 3, 2}));
  EXPECT_EQ(block_error(geometry, {11, 4, 9, 2}), "");
  EXPECT_NE(block_error(geometry, {11, 4, 4, 2}).find("legal extents there: 3, 9"), std::string::npos);
  EXPECT_NE(block_error(geometry, {4, 4, 3, 2}).find("legal extents there: 11"), std::string::npos);
}

/// Three ranks would have blocks of 4 in an extent of 12 each: the whole lattice of 36 has those of 6 and 3.
TEST(MultigridBlocks, do_not_depend_on_ranks) {
  const Coord lattice{36, 8, 8, 8};
  const Coord whole = choose_block(Geometry(lattice));
  EXPECT_EQ(choose_block(Geometry(lattice, ProcessGrid({3, 2, 1, 1}))), whole);
  try {
    choose_block(Geometry({12, 8, 8, 8}, ProcessGrid({1, 4, 1, 1})));
    FAIL() << "ranks of two sites have no blocks of 4";
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what()).find("blocks of 3x4x4x4"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("legal extents there: 2"), std::string::npos) << error.what();
  }
}

}  // namespace in_test_multigrid
}  // namespace trellis
