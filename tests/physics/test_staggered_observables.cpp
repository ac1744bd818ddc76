/// Traces of staggered observables are exact with unit vectors against determinants, noisy within errors; the
/// Goldstone pion agrees with gold numbers.
#include <gtest/gtest.h>

#include <numbers>

#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/staggered_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/measure/staggered.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis {
namespace in_test_staggered_observables {

constexpr double mass = 0.3;
const SolverSpec exact_solver = EvenOddSpec{CgSpec{1e-13}};

/// Returns all unit vectors as right-hand sides.
SpinorField unit_vectors(const StaggeredMatrix& matrix) {
  const Coord& L = matrix.lattice().extents();
  const int n = int(product(L));
  SpinorField field = matrix.hopping().make_field(Subset::full, 3 * n);
  for (int column = 0; column < 3 * n; ++column) {
    double unit[6] = {};
    unit[2 * (column % 3)] = 1;
    field.set_site(field.layout().position(site_coord(column / 3, L)), column, unit);
  }
  return field;
}

std::complex<double> sum(const std::vector<std::complex<double>>& values) {
  std::complex<double> s = 0;
  for (const auto& v : values) s += v;
  return s;
}

/// Returns the real part of log det M on the links U with theta + s w, by LU of the reference operator.
template <class Weight>
double logdet(const reference::Gauge& U, std::vector<double> theta, const Weight& w, double s) {
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu) theta[size_t(4 * x + mu)] += s * w(site_coord(x, U.extents), mu);
  const test::DenseMatrix M = test::dense_matrix(int(3 * U.volume()), [&](const test::DenseVector& v) {
    return test::to_dense(reference::staggered_apply(U, theta, mass, test::to_colour_vectors(v)));
  });
  return test::log_abs_determinant(Eigen::PartialPivLU<test::DenseMatrix>(M));
}

TEST(StaggeredTraces, are_derivatives_of_the_determinant) {
  const Coord L{4, 2, 2, 4};
  const auto lattice = make_lattice(L);
  const auto U = test::random_gauge(L, 91);
  StaggeredPhases phases;
  phases.mu_over_ipiT = 0.23;
  phases.flux[0] = 1;
  phases.flux[2] = -1;
  const auto matrix = std::make_shared<StaggeredMatrix>(
      std::make_shared<StaggeredLinks>(test::to_product(lattice, U)), phases, mass);
  const StaggeredTraces traces =
      staggered_traces(matrix, unit_vectors(*matrix), {true, {0, 2}}, exact_solver);
  ASSERT_TRUE(traces.report.converged);
  const auto theta = reference::staggered_theta(L, test::to_reference(phases));
  // With imaginary mu/T = phi, theta_t += phi / Lt and d/d(mu/T) = -i d/dphi.
  const auto potential = [&](const Coord&, int mu) { return mu == 3 ? 1.0 / L[3] : 0.0; };
  const auto f = [&](double s) { return logdet(U, theta, potential, s); };
  const double h = 0.05;
  const double first = (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + f(3 * h) - f(-3 * h)) / (60 * h);
  const double second = (-f(2 * h) + 16 * f(h) - 30 * f(0) + 16 * f(-h) - f(-2 * h)) / (12 * h * h);
  EXPECT_LT(std::abs(sum(traces.density) - std::complex<double>(0, -first)),
            1e-7 * std::max(1.0, std::abs(first)));
  EXPECT_LT(std::abs(sum(traces.curvature) + second), 1e-5 * std::max(1.0, std::abs(second)));
  for (const int which : {0, 1}) {
    const int plane = which == 0 ? 0 : 2;
    const auto flux = [&](const Coord& x, int mu) { return flux_weight(plane, L, x, mu); };
    const auto g = [&](double s) { return logdet(U, theta, flux, s); };
    const double k = 0.01;
    const double slope = (45 * (g(k) - g(-k)) - 9 * (g(2 * k) - g(-2 * k)) + g(3 * k) - g(-3 * k)) / (60 * k);
    EXPECT_LT(std::abs(sum(traces.magnetisation[size_t(which)]) - slope),
              1e-6 * std::max(1.0, std::abs(slope)))
        << "plane " << plane;
  }
}

TEST(StaggeredTraces, condensate_and_pion_on_F4) {
  TRELLIS_NEEDS_DATA();
  const reference::Gauge thin = test::field_F4();
  const auto links = std::make_shared<StaggeredLinks>(test::to_product(make_lattice(thin.extents), thin));
  const auto matrix = std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.1);
  const auto& gold = test::gold("stag.thin.m0.1.F4");
  const double expected = gold.at("trMinv_over_V").get<double>();
  const auto exact = staggered_traces(matrix, unit_vectors(*matrix), {}, exact_solver);
  EXPECT_LT(test::relative_error(sum(exact.inverse).real() / 256, expected), 1e-11);
  const GoldstonePion pion = goldstone_pion(matrix, {0, 0, 0, 0}, exact_solver);
  for (size_t t = 0; t < 4; ++t)
    EXPECT_LT(test::relative_error(pion.correlator[t], gold.at("pion")[t].get<double>()), 1e-11) << t;
  // With noise the mean lies within 5 standard errors, and errors are not large.
  for (const NoiseKind kind : {NoiseKind::z2, NoiseKind::z4}) {
    Noise noise;
    noise.kind = kind;
    noise.seed = 7;
    const int n = 64;
    const auto noisy =
        staggered_traces(matrix, staggered_noise(*matrix, noise, n), {}, EvenOddSpec{CgSpec{1e-8}});
    double mean = 0, square = 0;
    for (const auto& v : noisy.inverse) {
      mean += v.real() / 256 / n;
      square += v.real() * v.real() / 256 / 256 / n;
    }
    const double error = std::sqrt((square - mean * mean) / (n - 1));
    EXPECT_LT(std::abs(mean - expected), 5 * error);
    EXPECT_LT(error, 0.02 * expected);
  }
  EXPECT_THROW(goldstone_pion(matrix, {0, 0, 0, 4}, exact_solver), BadArgument);
  EXPECT_THROW(staggered_noise(*matrix, {}, 0), BadArgument);
}

}  // namespace in_test_staggered_observables
}  // namespace trellis
