/// Cycles of the Schwarz method agree with the slow reference, and lanes and batches do not change their
/// bits.
#include "trellis/multigrid/schwarz.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/multigrid/schwarz.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/solve.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {
namespace in_test_schwarz {

struct Case {
  const char* name;
  WilsonParams params;
  Coord extents{8, 8, 8, 8}, block{4, 4, 4, 4};
};

std::vector<Case> cases() {
  std::vector<Case> all(5);
  all[0].name = "Wilson, short blocks";
  all[0].params.mass = -0.3;
  all[0].extents = {4, 8, 8, 4};
  all[0].block = {2, 4, 4, 2};
  all[1].name = "clover";
  all[1].params = {.mass = -0.3, .csw_spatial = 1.3, .csw_temporal = 1.3};
  all[2].name = "anisotropic twisted clover, phases";
  all[2].params = {
      .mass = -0.2, .csw_spatial = 1.3, .csw_temporal = 0.9, .nu = 0.9, .xi0 = 2.0, .twisted_mass = 0.1};
  all[2].params.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, std::polar(1.0, 2.0)};
  all[2].extents = {8, 4, 4, 16};
  all[2].block = {4, 2, 2, 8};
  all[3].name = "twisted mass, unequal extents";
  all[3].params = {.mass = -0.1, .twisted_mass = 0.2};
  all[3].extents = {4, 8, 12, 8};
  all[3].block = {2, 2, 6, 4};
  all[4].name = "Dirichlet time, smallest blocks";
  all[4].params = {.mass = -0.1, .csw_spatial = 1.0, .csw_temporal = 1.0};
  all[4].params.boundary = {1.0, 1.0, 1.0, 0.0};
  all[4].extents = {4, 4, 4, 4};
  all[4].block = {2, 2, 2, 2};
  return all;
}

reference::WilsonParameters in_reference(const WilsonParams& params) {
  reference::WilsonParameters p;
  p.mass = params.mass;
  p.boundary = params.boundary;
  p.c_r = params.csw_spatial;
  p.c_t = params.csw_temporal;
  p.nu = params.nu;
  p.xi0 = params.xi0;
  p.twisted_mass = params.twisted_mass;
  return p;
}

double relative_error(const reference::SpinorVector& a, const reference::LevelVector& b) {
  return std::sqrt(reference::norm2(reference::difference(reference::to_level(a), b)) / reference::norm2(b));
}

SpinorField cycles_of(const WilsonOperator& M, const SchwarzSpec& spec, const SpinorField& r) {
  const OperatorCopies copies(M);
  SpinorField z = SpinorField::like(r);
  SolveCost cost;
  SolverSpec(spec)->inside(copies, r.rhs())->apply(z, r, cost);
  return z;
}

struct Storage {
  Precision storage, outside;
  double tolerance;
};

class Schwarz : public testing::TestWithParam<Storage> {};

TEST_P(Schwarz, cycles_are_those_of_the_reference) {
  const auto [storage, outside, tolerance] = GetParam();
  for (const Case& c : cases()) {
    const reference::Gauge U = test::random_gauge(c.extents, 9, 0.5);
    const WilsonOperator M(test::to_product(make_lattice(c.extents), U), c.params, {.precision = outside});
    const auto level =
        std::make_shared<reference::WilsonLevel>(reference::WilsonOperator(U, in_reference(c.params)));
    const int iterations = 3;
    const reference::Schwarz expected(level, c.block, reference::BlockSolver::mr_even_odd, iterations);
    const reference::SpinorVector b = test::random_spinors(c.extents, 3);
    SpinorField r = M.make_field(1);
    test::to_product(r, b);
    for (const int count : {1, 3}) {
      const SpinorField z =
          cycles_of(M, {.block = c.block, .cycles = count, .iterations = iterations, .storage = storage}, r);
      EXPECT_LT(relative_error(test::to_reference(z), expected.from_zero(reference::to_level(b), count)),
                tolerance)
          << c.name << ", " << count << " cycles";
      const SpinorField additive = cycles_of(M,
                                             {.block = c.block,
                                              .cycles = count,
                                              .iterations = iterations,
                                              .is_additive = true,
                                              .storage = storage},
                                             r);
      reference::LevelVector x(size_t(12 * product(c.extents)), Complex<double>{0, 0});
      for (int k = 0; k < count; ++k) expected.additive_cycle(x, reference::to_level(b));
      EXPECT_LT(relative_error(test::to_reference(additive), x), tolerance)
          << c.name << ", " << count << " additive cycles";
    }
  }
}

TEST_P(Schwarz, bits_do_not_depend_on_lanes_or_on_the_batch) {
  const auto [storage, outside, tolerance] = GetParam();
  for (Case c : {cases()[1], cases()[2]}) {
    const GaugeField U = test::to_product(make_lattice(c.extents), test::random_gauge(c.extents, 9, 0.5));
    std::vector<double> expected;
    for (const int lanes : {1, 4, 8, 16}) {
      if (lanes > native_lanes(storage)) continue;
      const WilsonOperator M(U, c.params, {.precision = outside, .lanes = lanes > 8 ? 8 : lanes});
      SpinorField r = M.make_field(3);
      for (int slot = 0; slot < 3; ++slot)
        test::to_product(r, test::random_spinors(c.extents, uint64_t(slot)), slot);
      const SpinorField z =
          cycles_of(M, {.block = c.block, .cycles = 2, .storage = storage, .lanes = lanes}, r);
      if (expected.empty()) {
        SpinorField one = M.make_field(1);
        copy_columns(one, 0, r, 2, 1);
        const SpinorField alone = cycles_of(M, {.block = c.block, .cycles = 2, .storage = storage}, one);
        expected = test::canonical_part(alone);
      }
      EXPECT_TRUE(test::canonical_part(z, 2) == expected) << c.name << ", " << lanes << " lanes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Storages, Schwarz,
    testing::Values(Storage{Precision::double_precision, Precision::double_precision, 1e-12},
                    Storage{Precision::single_precision, Precision::single_precision, 1e-5},
                    Storage{Precision::half_precision, Precision::single_precision, 2e-3},
                    Storage{Precision::fp16_precision, Precision::double_precision, 1e-2}),
    [](const auto& name) { return std::string(name_of(name.param.storage)); });

TEST(SchwarzSolver, preconditions_gcr) {
  const Case c = cases()[1];
  const GaugeField U = test::to_product(make_lattice(c.extents), test::random_gauge(c.extents, 9, 0.2));
  const WilsonOperator M(U, c.params);
  SpinorField b = M.make_field(1), x = SpinorField::like(b);
  test::to_product(b, test::random_spinors(c.extents, 3));
  GcrSpec gcr{.tolerance = 1e-10};
  const SolveReport plain = solve(gcr, M, x, b);
  gcr.preconditioner = Preconditioner(SolverSpec(SchwarzSpec{.cycles = 2}));
  x = SpinorField::like(b);
  const SolveReport report = solve(gcr, M, x, b);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_LT(report.iterations, plain.iterations / 3);
}

TEST(SchwarzSolver, refuses_what_it_does_not_serve) {
  const GaugeField U =
      test::to_product(make_lattice({4, 4, 4, 12}), test::random_gauge({4, 4, 4, 12}, 9, 0.2));
  const WilsonOperator M(U, {});
  SpinorField b = M.make_field(1), x = SpinorField::like(b);
  const auto message_of = [&](const SchwarzSpec& spec, const WilsonOperator& A) -> std::string {
    try {
      OperatorCopies copies(A);
      SolverSpec(spec)->inside(copies, 1);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message_of({.block = {2, 2, 2, 3}}, M).find("odd extent"), std::string::npos);
  EXPECT_NE(message_of({.block = {2, 2, 2, 4}}, M).find("legal extents there: 2, 3, 6"), std::string::npos);
  EXPECT_NE(message_of({.block = {2, 2, 2, 2}, .cycles = 0}, M).find("one or more cycles"),
            std::string::npos);
  const WilsonOperator on_gpu(U, {}, {.backend = Backend::gpu_emulated});
  EXPECT_NE(message_of({.block = {2, 2, 2, 2}}, on_gpu).find("smoother = mr"), std::string::npos);
  EXPECT_THROW(solve(SchwarzSpec{}, M, x, b), BadArgument);
}

}  // namespace in_test_schwarz
}  // namespace trellis
