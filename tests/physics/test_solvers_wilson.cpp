/// This file tests solvers on Wilson-clover operators and their Schur complements, on a small rough SU(3)
/// field.
#include <gtest/gtest.h>

#include "reference/wilson.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/gcr.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/methods/mr.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_solvers_wilson {

const Coord extents{4, 2, 6, 8};
constexpr double tolerance = 1e-10;

class WilsonSolvers : public ::testing::Test {
 protected:
  WilsonParams params = [] {
    WilsonParams p;
    p.mass = 0.1;
    p.csw_spatial = p.csw_temporal = 1.0;
    return p;
  }();
  LatticePtr lattice = make_lattice(extents);
  reference::Gauge U = test::random_gauge(extents, 11, 0.7);
  WilsonMatrixPtr matrix(int lanes = 0) const {
    return std::make_shared<WilsonMatrix>(test::to_product(lattice, U, lanes), params,
                                          KernelChoice{.lanes = lanes});
  }
  static SpinorField source(const LinearOperator& A, int rhs) {
    SpinorField b = A.make_field(rhs);
    for (int r = 0; r < rhs; ++r) test::to_product(b, test::random_spinors(extents, uint64_t(20 + r)), r);
    return b;
  }
};

const std::pair<const char*, SolverSpec> solvers[] = {
    {"cg", CgSpec{tolerance}},
    {"bicgstab", BicgstabSpec{tolerance}},
    {"gcr", GcrSpec{tolerance}},
    {"mr", MrSpec{tolerance}},
    {"cg float", MixedPrecisionSpec{CgSpec{tolerance}, Precision::single_precision}},
    {"cg half", MixedPrecisionSpec{CgSpec{tolerance}, Precision::half_precision}},
    {"cg fp16", MixedPrecisionSpec{CgSpec{tolerance}, Precision::fp16_precision}},
    {"bicgstab float", MixedPrecisionSpec{BicgstabSpec{tolerance}, Precision::single_precision}},
    {"bicgstab half", MixedPrecisionSpec{BicgstabSpec{tolerance}, Precision::half_precision}},
    {"gcr half", MixedPrecisionSpec{GcrSpec{tolerance}, Precision::half_precision}}};

/// All solvers agree on the full operator, the Schur complements give the same solution, and the residual of
/// the full system, by the reference operator, is what was asked for.
TEST_F(WilsonSolvers, full_and_even_odd_agree) {
  constexpr int rhs = 2;
  const WilsonMatrixPtr M = matrix();
  const WilsonOperator full(M);
  const SpinorField b = source(full, rhs);
  SpinorField exact = full.make_field(rhs);
  ASSERT_TRUE(solve(CgSpec{1e-13}, full, exact, b).converged);
  const Coefficients b2 = norm2_each(b), exact2 = norm2_each(exact);
  const auto error = [&](SpinorField x) {
    double worst = 0;
    const Coefficients d = combine_norm2(x, Coefficients(rhs, 1.0), x, Coefficients(rhs, -1.0), exact);
    for (size_t r = 0; r < rhs; ++r) worst = std::max(worst, std::sqrt(d[r] / exact2[r]));
    return worst;
  };
  for (const auto& [name, spec] : solvers) {
    SpinorField x = full.make_field(rhs);
    const SolveReport report = solve(spec, full, x, b);
    EXPECT_TRUE(report.converged) << name << " " << report.summary();
    EXPECT_LE(error(x), 50 * tolerance) << name;  // |M^-1| |M| of this field is below 50
    for (size_t r = 0; r < rhs; ++r)
      EXPECT_LE(relative_residual(full, x, b)[r], tolerance * (1 + 1e-4)) << name;
    for (const SchurForm form : {SchurForm::asymmetric, SchurForm::symmetric}) {
      const WilsonSchur schur(M, form);
      SpinorField half_source = schur.make_field(rhs), half = schur.make_field(rhs);
      schur.prepare_source(half_source, b);
      const SolveReport schur_report = solve(spec, schur, half, half_source);
      EXPECT_TRUE(schur_report.converged) << name << " " << schur_report.summary();
      EXPECT_LT(schur_report.iterations, report.iterations) << name;
      schur.reconstruct(x, half, b);
      EXPECT_LE(error(x), 50 * tolerance) << name;
    }
  }
}

TEST_F(WilsonSolvers, residual_by_the_reference_operator) {
  const WilsonMatrixPtr M = matrix();
  const WilsonSchur schur(M, SchurForm::symmetric);
  const WilsonOperator full(M);
  const SpinorField b = source(full, 1);
  SpinorField x = full.make_field(1), half = schur.make_field(1), half_source = schur.make_field(1);
  schur.prepare_source(half_source, b);
  const SolverSpec spec = MixedPrecisionSpec{CgSpec{1e-12}, Precision::half_precision};
  const SolveReport report = solve(spec, schur, half, half_source);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_EQ(report.method, "cg on the normal equations, half inside");
  schur.reconstruct(x, half, b);
  reference::WilsonParameters p;
  p.mass = params.mass;
  p.boundary = params.boundary;
  p.c_r = params.csw_spatial;
  p.c_t = params.csw_temporal;
  const reference::SpinorVector psi = test::to_reference(x), eta = test::to_reference(b);
  EXPECT_LE(test::relative_error(reference::WilsonOperator(U, p).apply(psi), eta), 1e-11);
}

/// The normal operator of the Schur complement is what HMC solves.
TEST_F(WilsonSolvers, normal_operator_of_the_schur_complement) {
  const auto schur = std::make_shared<WilsonSchur>(matrix(), SchurForm::asymmetric);
  const NormalOperator N(schur);
  const SpinorField b = source(N, 2);
  SpinorField in_double = N.make_field(2), x = N.make_field(2);
  const SolveReport report = solve(CgSpec{1e-11}, N, in_double, b);
  EXPECT_TRUE(report.converged) << report.summary();
  EXPECT_EQ(report.method, "cg");
  const SolveReport mixed = solve(MixedPrecisionSpec{CgSpec{1e-11}, Precision::half_precision}, N, x, b);
  EXPECT_TRUE(mixed.converged) << mixed.summary();
  EXPECT_LE(mixed.iterations, 1.5 * report.iterations);
  const Coefficients one(2, 1.0), minus(2, -1.0);
  const Coefficients difference2 = combine_norm2(x, one, x, minus, in_double), x2 = norm2_each(in_double);
  for (size_t r = 0; r < 2; ++r) EXPECT_LE(std::sqrt(difference2[r] / x2[r]), 2500 * 1e-11);
}

TEST_F(WilsonSolvers, same_bits_for_every_lane_count) {
  for (const auto& [name, spec] : solvers) {
    std::vector<double> expected;
    for (const int lanes : {1, 4, 8, 16}) {
      const WilsonSchur schur(matrix(lanes), SchurForm::symmetric);
      const SpinorField b = source(schur, 2);
      SpinorField x = schur.make_field(2);
      EXPECT_TRUE(solve(spec, schur, x, b).converged) << name;
      const std::vector<double> found = test::canonical_part(x, 1);
      if (expected.empty()) expected = found;
      EXPECT_TRUE(found == expected) << name << ", " << lanes << " lanes";
    }
  }
}

/// 12 right-hand sides at a time have the bits of one at a time.
TEST_F(WilsonSolvers, twelve_sources_in_one_batch) {
  const WilsonSchur schur(matrix(), SchurForm::symmetric);
  const SpinorField b = source(schur, 12);
  for (const auto& [name, spec] : {solvers[0], solvers[1]}) {
    SpinorField x = schur.make_field(12), single = schur.make_field(1), x_single = schur.make_field(1);
    const SolveReport report = solve(spec, schur, x, b);
    ASSERT_TRUE(report.converged) << name;
    ASSERT_EQ(report.relative_residual.size(), 12u);
    for (const int r : {0, 7, 11}) {
      single.from_canonical(test::canonical_part(b, r).data());
      set_zero(x_single);
      ASSERT_TRUE(solve(spec, schur, x_single, single).converged);
      EXPECT_TRUE(test::canonical_part(x, r) == test::canonical_part(x_single, 0))
          << name << ", source " << r;
    }
  }
}

}  // namespace in_test_solvers_wilson
}  // namespace trellis
