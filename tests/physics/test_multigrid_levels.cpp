/// Multigrid of three levels has P and D of coarse levels that their definitions give; cycles agree with the
/// reference; set-up, solves and refusals are tested.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/coarse_fields.hpp"
#include "tests/support/multigrid.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/multigrid/galerkin.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_multigrid_levels {

using test::fill_random;
using test::gamma5;
using test::largest_difference;

/// Returns every number of a slot, in the order of sites.
std::vector<double> numbers(const SiteField& f, int slot) {
  std::vector<double> all(size_t(f.geometry().local_volume()) * size_t(f.reals()));
  f.to_canonical(all.data(), slot);
  return all;
}

struct Case {
  const char* name;
  WilsonParams params;
  Coord extents{8, 8, 8, 8}, block{2, 2, 2, 2}, coarse_block{2, 2, 2, 2};
};

std::vector<Case> cases() {
  std::vector<Case> all(3);
  all[0].name = "clover";
  all[0].params = {.mass = -0.3, .csw_spatial = 1.3, .csw_temporal = 1.3};
  all[1].name = "anisotropic twisted clover, phases";
  all[1].params = {
      .mass = -0.2, .csw_spatial = 1.3, .csw_temporal = 0.9, .nu = 0.9, .xi0 = 2.0, .twisted_mass = 0.1};
  all[1].params.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  all[1].extents = {8, 4, 4, 8};
  all[1].coarse_block = {2, 1, 1, 2};
  all[2].name = "unequal extents";
  all[2].params = {.mass = -0.1, .csw_spatial = 1.0, .csw_temporal = 1.0};
  all[2].extents = {4, 8, 4, 18};
  all[2].block = {2, 2, 2, 3};
  all[2].coarse_block = {1, 2, 1, 3};
  return all;
}

class MultigridLevels : public testing::TestWithParam<Precision> {
 protected:
  double tolerance() const { return GetParam() == Precision::double_precision ? 1e-12 : 1e-5; }
  struct Parts {
    CoarseMatrixPtr D;
    std::unique_ptr<CoarseProlongator> P;
    CoarseMatrixPtr next;
  };
  Parts parts(const Case& c, Backend backend = Backend::cpu, int vectors = 5, int coarse_vectors = 7) const {
    const GaugeField U = test::to_product(make_lattice(c.extents), test::random_gauge(c.extents, 7, 0.4));
    const WilsonOperator M(U, c.params, {.precision = GetParam(), .backend = backend, .lanes = 1});
    Prolongator first(M.make_field(vectors), c.block, vectors);
    fill_random(first.columns(), 5);
    EXPECT_GT(first.orthonormalise(1e-8), 1e-8);
    Parts parts;
    parts.D = galerkin_product(*M.matrix(), first);
    parts.P = std::make_unique<CoarseProlongator>(first.make_coarse_field(1), c.coarse_block, coarse_vectors);
    fill_random(parts.P->columns(), 6);
    EXPECT_GT(parts.P->orthonormalise(1e-8), 1e-8);
    parts.next = galerkin_product(*parts.D, *parts.P);
    return parts;
  }
};

TEST_P(MultigridLevels, the_second_prolongator_is_an_isometry_that_commutes_with_gamma5) {
  for (const Case& c : cases()) {
    const Parts p = parts(c);
    SiteField coarse = p.P->make_coarse_field(3), back = SiteField::like(coarse);
    fill_random(coarse, 11);
    SiteField fine = CoarseOperator(p.D).make_field(3), of_turned = SiteField::like(fine);
    p.P->prolong_to(fine, coarse);
    p.P->restrict_to(back, fine);
    EXPECT_LT(largest_difference(coarse, back), tolerance()) << c.name;
    p.P->prolong_to(of_turned, gamma5(coarse));
    EXPECT_EQ(largest_difference(gamma5(fine), of_turned), 0) << c.name;
    EXPECT_EQ(p.P->dependent_columns(0.999), std::vector<int>{});
  }
}

TEST_P(MultigridLevels, the_third_operator_is_the_galerkin_product_of_the_second) {
  for (const Case& c : cases()) {
    const Parts p = parts(c);
    const CoarseOperator D(p.D), next(p.next);
    SiteField in = p.P->make_coarse_field(2), out = SiteField::like(in), expected = SiteField::like(in);
    fill_random(in, 12);
    SiteField fine = D.make_field(2), image = SiteField::like(fine);
    p.P->prolong_to(fine, in);
    D.apply(image, fine);
    p.P->restrict_to(expected, image);
    next.apply(out, in);
    EXPECT_LT(largest_difference(expected, out), 3 * tolerance()) << c.name;
    D.apply_dagger(image, fine);
    p.P->restrict_to(expected, image);
    next.apply_dagger(out, in);
    EXPECT_LT(largest_difference(expected, out), 3 * tolerance()) << c.name;
  }
}

TEST_P(MultigridLevels, shifts_of_both_masses_are_exact) {
  for (const Case& c : cases()) {
    const Parts p = parts(c);
    const CoarseOperator direct(galerkin_product(*p.D->shifted(0.07, -0.3), *p.P)),
        shifted(p.next->shifted(0.07, -0.3));
    SiteField in = p.P->make_coarse_field(1), a = SiteField::like(in), b = SiteField::like(in);
    fill_random(in, 13);
    direct.apply(a, in);
    shifted.apply(b, in);
    EXPECT_LT(largest_difference(a, b), 10 * tolerance()) << c.name;
  }
}

TEST_P(MultigridLevels, bits_do_not_depend_on_the_layout) {
  for (const Case& c : cases()) {
    std::vector<double> expected;
    for (const Backend backend : {Backend::cpu, Backend::gpu_emulated}) {
      const Parts p = parts(c, backend);
      SiteField in = p.P->make_coarse_field(2), out = SiteField::like(in);
      fill_random(in, 15);
      SiteField fine = CoarseOperator(p.D).make_field(2);
      p.P->prolong_to(fine, in);
      p.P->restrict_to(in, fine);
      CoarseOperator(p.next).apply(out, in);
      std::vector<double> all;
      for (const SiteField* f : {&fine, &in, &out})
        for (const double v : numbers(*f, 1)) all.push_back(v);
      if (expected.empty()) expected = all;
      EXPECT_TRUE(expected == all) << c.name << ", " << name_of(backend);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(in_both_precisions, MultigridLevels,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Returns a coarse field, or spinors, as a vector of the reference, whose sites are lexicographic.
reference::LevelVector to_level(const SiteField& f, int slot = 0) {
  const std::vector<double> all = numbers(f, slot);
  reference::LevelVector v(all.size() / 2);
  for (size_t i = 0; i < v.size(); ++i) v[i] = {all[2 * i], all[2 * i + 1]};
  return v;
}
void from_level(SiteField& f, const reference::LevelVector& v, int slot) {
  std::vector<double> all;
  for (const auto& z : v) {
    all.push_back(z.re);
    all.push_back(z.im);
  }
  f.from_canonical(all.data(), slot);
}

/// On random links Wilson quarks have the columns of both prolongators from the reference.
class ThreeLevelsOfReference : public testing::TestWithParam<MultigridCycleKind> {
 protected:
  static constexpr int vectors = 3, coarse_vectors = 4, smoothing = 2, coarse_smoothing = 2, coarse_steps = 3;
  const Coord extents{4, 8, 4, 12}, block{2, 2, 2, 3}, coarse_block{1, 2, 1, 2};
  const reference::Gauge U = test::random_gauge(extents, 8, 0.3);
  const WilsonParams wilson{.mass = 0.05, .twisted_mass = 0.0};
  std::shared_ptr<const reference::WilsonLevel> D;
  std::unique_ptr<reference::Prolongator> P, coarse_P;
  std::shared_ptr<const reference::CoarseOperator> second, third;
  MultigridPtr multigrid;

  void SetUp() override {
    reference::WilsonParameters params;
    params.mass = wilson.mass;
    params.boundary = wilson.boundary;
    D = std::make_shared<reference::WilsonLevel>(reference::WilsonOperator(U, params));
    P = std::make_unique<reference::Prolongator>(reference::Blocks(extents, block), 12,
                                                 test::random_level_vectors(D->size(), vectors, 3));
    second = std::make_shared<reference::CoarseOperator>(*D, *P);
    coarse_P = std::make_unique<reference::Prolongator>(
        reference::Blocks(second->extents(), coarse_block), 2 * vectors,
        test::random_level_vectors(second->size(), coarse_vectors, 4));
    third = std::make_shared<reference::CoarseOperator>(*second, *coarse_P);
    MultigridParams p;
    p.block = block;
    p.vectors = vectors;
    p.levels = 3;
    p.coarse_blocks = {coarse_block};
    p.coarse_vectors = {coarse_vectors};
    p.smoother = MultigridSmoother::minimal_residual;
    p.smoothing = smoothing;
    p.coarse_smoothing = coarse_smoothing;
    p.storage = p.coarse_storage = Precision::double_precision;
    p.coarse_tolerance = 1e-30;
    p.coarse_iterations = p.coarse_restart = coarse_steps;
    p.coarse_modes = 0;
    p.cycle = GetParam();
    const WilsonOperator M(test::to_product(make_lattice(extents), U, 1), wilson, {.lanes = 1});
    const auto fill = [&](SpinorField& columns, SiteField&) {
      for (int j = 0; j < vectors; ++j) from_level(columns, P->columns()[size_t(j)], j);
    };
    const auto fill_coarse = [&](int, SiteField& columns) {
      for (int j = 0; j < coarse_vectors; ++j) from_level(columns, coarse_P->columns()[size_t(j)], j);
    };
    multigrid = MultigridSetup(*M.matrix(), p).from_columns(fill, fill_coarse, {});
  }
};

TEST_P(ThreeLevelsOfReference, have_its_coarse_matrices) {
  for (const auto& [level, expected] : {std::pair{1, second}, {2, third}}) {
    const CoarseMatrix& found = *multigrid->hierarchy().matrix(level);
    std::vector<double> reals(size_t(found.diagonal().reals()));
    for (int64_t X = 0; X < expected->volume(); ++X) {
      const SitePosition at = found.links().layout().position(site_coord(X, expected->extents()));
      found.diagonal().get_site(at, 0, reals.data());
      EXPECT_LT(largest_difference(reals, expected->self(X)), 1e-12) << "level " << level << ", site " << X;
      for (int mu = 0; mu < Nd; ++mu) {
        found.links().get_site(at, mu, reals.data());
        EXPECT_LT(largest_difference(reals, expected->forward_leg(X, mu)), 1e-12)
            << "level " << level << ", site " << X << ", mu " << mu;
      }
    }
  }
}

TEST_P(ThreeLevelsOfReference, go_through_its_cycle) {
  using reference::LevelVector;
  const reference::LevelSchur S(second);
  const reference::LevelMap solve_third = reference::gcr_coarse_solver(1e-30, coarse_steps)(third);
  const auto coarse_cycle = [&](const LevelVector& r) {
    LevelVector x = coarse_P->prolong(solve_third(coarse_P->restrict(r)));
    const LevelVector left = reference::difference(r, second->apply(x));
    const auto apply = [&](const LevelVector& v) { return S.apply(v); };
    reference::add_scaled(
        x, 1, S.solution(reference::flexible_gcr(apply, S.source(left), 0, coarse_smoothing).x, left));
    return x;
  };
  const auto restarted = [&](const LevelVector& b) {  // this is GCR(5) with 2 restarts, to .1
    LevelVector x(b.size(), Complex<double>{0, 0}), r = b;
    const double wanted = 0.1 * std::sqrt(reference::norm2(b));
    for (int i = 0; i < 3; ++i) {
      const double now = std::sqrt(reference::norm2(r));
      if (now < wanted) break;
      reference::add_scaled(
          x, 1, reference::flexible_gcr(test::map_of(*second), r, wanted / now, 5, coarse_cycle).x);
      r = reference::difference(b, second->apply(x));
    }
    return x;
  };
  const auto schwarz =
      std::make_shared<const reference::Schwarz>(D, extents, reference::BlockSolver::mr_even_odd, smoothing);
  const WilsonOperator M(test::to_product(make_lattice(extents), U, 1), wilson, {.lanes = 1});
  SpinorField r = M.make_field(), z = SpinorField::like(r);
  fill_random(r, 31);
  SolveCost cost;
  multigrid->cycle(M, 1)->apply(z, r, cost);
  const LevelVector b = to_level(r), restricted = P->restrict(b);
  LevelVector x =
      P->prolong(GetParam() == MultigridCycleKind::k ? restarted(restricted) : coarse_cycle(restricted));
  schwarz->cycle(x, b);
  EXPECT_LT(test::relative_error(to_level(z), x), 1e-10);
  EXPECT_EQ(multigrid->profile(0).cycles, 1);
  EXPECT_GE(multigrid->profile(1).cycles, 1);
}

INSTANTIATE_TEST_SUITE_P(of_both_kinds, ThreeLevelsOfReference,
                         testing::Values(MultigridCycleKind::k, MultigridCycleKind::v),
                         [](const auto& info) { return std::string(name_of(info.param)); });

WilsonParams clover(double kappa) {
  return {.mass = kappa_to_mass(kappa), .csw_spatial = 1.769, .csw_temporal = 1.769};
}

class ThreeLevels : public testing::Test {
 protected:
  static const GaugeField& field() {
    static const GaugeField U = [] {
      GaugeField links(make_lattice({8, 8, 8, 16}));
      set_hot(links, 5);
      Heatbath heatbath({.beta = 6.0, .overrelaxation_sweeps = 4});
      for (int i = 0; i < 20; ++i) heatbath.update(links, 5, 0, uint32_t(i));
      return links;
    }();
    return U;
  }
  static MultigridParams params() {
    MultigridParams p;
    p.block = {2, 2, 2, 4};
    p.vectors = 12;
    p.levels = 3;
    p.sweeps = 2;
    return p;
  }
};

TEST_F(ThreeLevels, solve_with_true_residuals_with_either_cycle_and_at_other_masses) {
  const WilsonOperator M(field(), clover(0.1340));
  std::vector<int> iterations;
  const std::pair<MultigridCycleKind, MultigridSmoother> choices[] = {
      {MultigridCycleKind::k, MultigridSmoother::schwarz},
      {MultigridCycleKind::v, MultigridSmoother::schwarz},
      {MultigridCycleKind::k, MultigridSmoother::minimal_residual}};
  for (const auto& [cycle, smoother] : choices) {
    MultigridParams p = params();
    p.cycle = cycle;
    p.smoother = smoother;
    const MultigridPtr multigrid = Multigrid::make(M, p);
    EXPECT_EQ(multigrid->params().coarse_blocks, (std::vector<Coord>{{2, 2, 2, 2}}));
    EXPECT_EQ(multigrid->params().coarse_vectors, (std::vector<int>{17}));
    const MultigridLevelReport& of_second = multigrid->report().coarse_levels.at(0);
    EXPECT_EQ(of_second.residual.size(), 3u);
    EXPECT_LT(of_second.worst_residual, 1);
    EXPECT_GT(of_second.condition, 1);
    SpinorField b = M.make_field(2), x = SpinorField::like(b);
    fill_random(b, 21);
    const SolveReport report = solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, M, x, b);
    EXPECT_TRUE(report.converged) << report.summary();
    for (const double r : relative_residual(M, x, b)) EXPECT_LE(r, 1e-10);
    iterations.push_back(report.iterations);
    EXPECT_GT(multigrid->profile(1).cycles, multigrid->profile(0).cycles - 1);
    WilsonParams other = clover(0.1320);
    other.twisted_mass = -0.02;
    const WilsonOperator shifted(field(), other);
    SpinorField y = SpinorField::like(b);
    EXPECT_TRUE(solve(MultigridSpec{.multigrid = multigrid, .fallback = false}, shifted, y, b).converged);
    for (const double r : relative_residual(shifted, y, b)) EXPECT_LE(r, 1e-10);
  }
  EXPECT_LE(iterations[0], iterations[1]);  // a K-cycle is no worse than a V-cycle
  EXPECT_LE(iterations[0], 25);
}

TEST_F(ThreeLevels, are_made_anew_for_links_that_have_moved) {
  const WilsonOperator M(field(), clover(0.1340));
  const MultigridPtr multigrid = Multigrid::make(M, params());
  GaugeField moved = field();
  heatbath_update(moved, {.beta = 6.0}, 9, 0, 0);
  const WilsonOperator other(moved, clover(0.1340));
  const auto updated =
      std::dynamic_pointer_cast<const Multigrid>(multigrid->updated(std::make_shared<WilsonOperator>(other)));
  EXPECT_EQ(updated->levels(), 3);
  EXPECT_NE(updated->report().coarse_levels.at(0).residual, multigrid->report().coarse_levels.at(0).residual);
  SpinorField b = M.make_field(), x = SpinorField::like(b);
  fill_random(b, 22);
  EXPECT_TRUE(solve(MultigridSpec{.multigrid = updated, .fallback = false}, other, x, b).converged);
  const MultigridPtr as_it_is = MultigridSetup(*other.matrix(), params()).with_coarse_space_of(*multigrid);
  EXPECT_TRUE(solve(MultigridSpec{.multigrid = as_it_is, .fallback = false}, other, x, b).converged);
}

TEST_F(ThreeLevels, and_four_are_refused_with_what_is_legal) {
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
              p.coarse_blocks = {{2, 2, 2, 4}};
            }).find("legal extents there: 1, 2"),
            std::string::npos);
  EXPECT_NE(message_for([](auto& p) { p.levels = 1; }).find("2 levels or more"), std::string::npos);
  EXPECT_NE(message_for([](auto& p) { p.levels = 4; }).find("no coarser one"), std::string::npos)
      << message_for([](auto& p) { p.levels = 4; });
  EXPECT_NE(message_for([](auto& p) {
              p.coarse_vectors = {12, 16};
            }).find("of 1 coarse lattices, not of 2"),
            std::string::npos);
  EXPECT_NE(message_for([](auto& p) { p.coarse_vectors = {97}; }).find("1 to 96"), std::string::npos);
  EXPECT_NE(message_for([](auto& p) {
              p.vectors = 2;
              p.coarse_vectors = {40};
            }).find("only 32 numbers of each chirality"),
            std::string::npos);
}

/// The rule looks at sites of the second lattice; lists of blocks or vectors say how many levels there are.
TEST(MultigridLevelsByRule, are_two_on_small_lattices) {
  GaugeField U(make_lattice({8, 8, 8, 8}));
  set_hot(U, 5);
  const WilsonOperator M(U, {.mass = 0.5});
  MultigridParams p;
  p.vectors = 4;
  p.sweeps = 0;
  EXPECT_EQ(Multigrid::make(M, p)->levels(), 2);
  p.block = {2, 2, 2, 2};
  p.coarse_vectors = {5};
  EXPECT_EQ(Multigrid::make(M, p)->levels(), 3);
}

}  // namespace in_test_multigrid_levels
}  // namespace trellis
