/// Traces of Wilson-type quarks are exact with unit vectors against dense matrices, noisy within errors, the
/// same on every number of lanes.
#include <gtest/gtest.h>

#include "reference/wilson.hpp"
#include "tests/support/dense.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/wilson_traces.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_wilson_traces {

const Coord extents{2, 2, 2, 4};
const SolverSpec exact_on_M = CgSpec{.tolerance = 1e-13, .max_iterations = 5000};
const SolverSpec exact_solver = EvenOddSpec{exact_on_M};

struct Case {
  const char* name;
  double csw = 0, twisted_mass = 0, nu = 1, xi0 = 1;
};
const Case cases[] = {{"wilson"},
                      {"clover", 1.2},
                      {"twisted", 0, 0.3},
                      {"twisted clover", 0.9, -0.2},
                      {"anisotropic", 1, 0, 1.1, 1.5}};

WilsonParams parameters(const Case& c) {
  WilsonParams p;
  p.mass = 0.3;
  p.csw_spatial = p.csw_temporal = c.csw;
  p.twisted_mass = c.twisted_mass;
  p.nu = c.nu;
  p.xi0 = c.xi0;
  p.boundary = {1.0, 1.0, std::polar(1.0, 0.4), std::polar(1.0, 2.5)};
  return p;
}

WilsonMatrixPtr make_matrix(const GaugeField& U, const Case& c, int lanes = 0) {
  return std::make_shared<WilsonMatrix>(U, parameters(c), KernelChoice{.lanes = lanes});
}

SpinorField unit_vectors(const LatticePtr& lattice) {
  const int n = 12 * int(product(extents));
  FieldSpec spec;
  spec.rhs = n;
  SpinorField field(lattice, spec);
  for (int column = 0; column < n; ++column) {
    double unit[24] = {};
    unit[2 * (column % 12)] = 1;
    field.set_site(field.layout().position(site_coord(column / 12, extents)), column, unit);
  }
  return field;
}

std::complex<double> sum(const WilsonTraces::Values& values) {
  std::complex<double> s = 0;
  for (const auto& v : values) s += v;
  return s;
}

/// Returns the reference operator with the phase exp(i phi) more at the boundary in t: mu/T = i phi.
test::DenseMatrix dense(const reference::Gauge& U, const Case& c, double phi) {
  const WilsonParams p = parameters(c);
  reference::WilsonParameters q;
  q.mass = p.mass;
  q.boundary = p.boundary;
  q.boundary[3] *= std::polar(1.0, phi);
  q.c_r = q.c_t = c.csw;
  q.nu = c.nu;
  q.xi0 = c.xi0;
  q.twisted_mass = c.twisted_mass;
  const reference::WilsonOperator M(U, q);
  return test::dense_matrix(int(12 * U.volume()), [&](const test::DenseVector& v) {
    return test::to_dense(M.apply(test::to_spinors(v)));
  });
}

/// The form M(phi) = A + exp(i phi) F + exp(-i phi) B lets differences give its derivatives exactly. The
/// derivatives of log det M do not depend on where on the temporal links the potential sits.
TEST(WilsonTraces, equal_dense_traces) {
  const auto lattice = make_lattice(extents);
  const auto links = test::random_gauge(extents, 91, 0.6);
  const GaugeField U = test::to_product(lattice, links);
  const std::complex<double> i1{0, 1};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const test::DenseMatrix M = dense(links, c, 0), plus = dense(links, c, 1), minus = dense(links, c, -1);
    const test::DenseMatrix inverse = M.inverse();
    const test::DenseMatrix first = (plus - minus) / (2 * std::sin(1.0) * i1) * inverse;
    const test::DenseMatrix second = (2 * M - plus - minus) / (2 * (1 - std::cos(1.0))) * inverse;
    std::complex<double> gamma5 = 0;
    for (int k = 0; k < M.rows(); ++k) gamma5 += (k % 12 < 6 ? 1.0 : -1.0) * inverse(k, k);
    const double scale = std::abs(inverse.trace());
    const std::vector<SolverSpec> one{exact_solver},
        all{exact_solver, EvenOddSpec{exact_on_M, SchurForm::asymmetric}, exact_on_M};
    for (const SolverSpec& solver : c.csw != 0 && c.twisted_mass != 0 ? all : one) {
      const WilsonTraces traces = wilson_traces(make_matrix(U, c), U, unit_vectors(lattice), true, solver);
      ASSERT_TRUE(traces.report.converged);
      EXPECT_LT(std::abs(sum(traces.inverse) - inverse.trace()), 1e-11 * scale);
      EXPECT_LT(std::abs(sum(traces.gamma5) - gamma5), 1e-11 * scale);
      EXPECT_LT(std::abs(sum(traces.density) - first.trace()), 1e-11 * scale);
      EXPECT_LT(std::abs(sum(traces.curvature) - (second - first * first).trace()), 1e-11 * scale);
      EXPECT_GT(std::abs(sum(traces.density)), 1e-6 * scale);
    }
  }
}

TEST(WilsonTraces, noise_estimates_them) {
  const auto lattice = make_lattice(extents);
  const GaugeField U = test::to_product(lattice, test::random_gauge(extents, 92, 0.6));
  const Case& c = cases[3];
  const double exact =
      sum(wilson_traces(make_matrix(U, c), U, unit_vectors(lattice), false, exact_solver).inverse).real();
  for (const NoiseKind kind : {NoiseKind::z2, NoiseKind::z4}) {
    Noise noise;
    noise.kind = kind;
    noise.seed = 3;
    const int n = 48;
    const auto found = wilson_traces(make_matrix(U, c), U, noise_vectors(lattice, noise, n), false,
                                     EvenOddSpec{CgSpec{1e-9}});
    EXPECT_TRUE(found.curvature.empty());
    double mean = 0, square = 0;
    for (const auto& v : found.inverse) {
      mean += v.real() / n;
      square += v.real() * v.real() / n;
    }
    const double error = std::sqrt((square - mean * mean) / (n - 1));
    EXPECT_LT(std::abs(mean - exact), 5 * error);
    EXPECT_LT(error, 0.02 * exact);
  }
}

TEST(WilsonTraces, have_the_same_bits_on_all_lanes) {
  const Coord wide{4, 4, 4, 4};
  const auto lattice = make_lattice(wide);
  const GaugeField U = test::to_product(lattice, test::random_gauge(wide, 93, 0.6));
  const SpinorField eta = noise_vectors(lattice, {.seed = 4}, 2);
  const WilsonTraces first =
      wilson_traces(make_matrix(U, cases[1], 1), U, eta, true, EvenOddSpec{CgSpec{1e-8}});
  for (const int lanes : {4, 8}) {
    const WilsonTraces other =
        wilson_traces(make_matrix(U, cases[1], lanes), U, eta, true, EvenOddSpec{CgSpec{1e-8}});
    EXPECT_EQ(first.inverse, other.inverse);
    EXPECT_EQ(first.gamma5, other.gamma5);
    EXPECT_EQ(first.density, other.density);
    EXPECT_EQ(first.curvature, other.curvature);
  }
}

TEST(WilsonTraces, refuse_other_storage) {
  const auto lattice = make_lattice(extents);
  const GaugeField U = test::to_product(lattice, test::random_gauge(extents, 94, 0.6));
  FieldSpec single;
  single.precision = Precision::single_precision;
  EXPECT_THROW(wilson_traces(make_matrix(U, cases[0]), U, SpinorField(lattice, single), false, exact_solver),
               BadArgument);
}

}  // namespace in_test_wilson_traces
}  // namespace trellis
