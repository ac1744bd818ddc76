/// One multi-shift solve gives many masses of staggered quarks: it agrees with MILC's inverse and with solves
/// of each mass, and residuals are true ones. The tests also count what a source of one parity costs.
#include <gtest/gtest.h>

#include "tests/support/external_data.hpp"
#include "tests/support/staggered_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/io/site_field_file.hpp"
#include "trellis/measure/staggered_masses.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_staggered_masses {

MultiShiftSpec to_tolerance(double tolerance, Precision precision = Precision::double_precision) {
  MultiShiftSpec spec;
  spec.tolerance = tolerance;
  spec.precision = precision;
  return spec;
}

/// Returns |b - M x| / |b| by the operator itself.
std::vector<double> residual(const StaggeredMatrix& matrix, double mass, const SpinorField& x,
                             const SpinorField& b) {
  const auto own = std::make_shared<StaggeredMatrix>(matrix.hopping().links(), matrix.phases(), mass);
  return relative_residual(StaggeredOperator(own), x, b);
}

TEST(StaggeredMasses, asqtad_equals_milc) {
  TRELLIS_NEEDS_DATA();
  const Coord L{8, 8, 8, 8};
  const auto lattice = make_lattice(L);
  GaugeField U(lattice);
  read_gauge_field(test::data_file("milc/lat.sample.l8"), U);
  const double u0 = 0.502;
  const auto links = std::make_shared<StaggeredLinks>(fat_links(U, asqtad_coefficients(u0)), long_links(U),
                                                      asqtad_long_coefficient(u0), false);
  const StaggeredMatrix matrix(links, {}, 1.0);
  // MILC's phases are ours times (-1)^(t (x + y + z)) at both ends, and its matrix is 2 m + 2 D.
  const auto vector_of = [&](const char* name) {
    std::vector<double> values(size_t(lattice->volume()) * 6);
    read_site_field(test::data_file(name), *lattice, values.data(), 6);
    for (int64_t site = 0; site < lattice->volume(); ++site) {
      const Coord x = site_coord(site, L);
      if (x[3] % 2 && (x[0] + x[1] + x[2]) % 2)
        for (size_t i = 0; i < 6; ++i) values[size_t(site) * 6 + i] *= -1;
    }
    SpinorField field = matrix.hopping().make_field(Subset::full, 1);
    field.from_canonical(values.data());
    return field;
  };
  const SpinorField source = vector_of("milc/ksvector.src.sample.l8");
  const SpinorField answer = vector_of("milc/ksvector.ans.Minv.sample.l8");
  std::vector<SpinorField> x;
  const SolveReport report = solve_masses(matrix, {0.4, 0.1}, x, source, to_tolerance(1e-9));
  EXPECT_TRUE(report.converged);
  SpinorField r = SpinorField::like(answer);
  combine(r, 0.5, x[1], -1.0, answer);
  EXPECT_LT(std::sqrt(norm2(r) / norm2(answer)), 1e-6);  // the file is in single precision
}

TEST(StaggeredMasses, residuals_are_those_of_every_mass_and_column) {
  const Coord L{4, 4, 4, 8};
  const auto lattice = make_lattice(L);
  const GaugeField U = test::to_product(lattice, test::random_gauge(L, 21));
  const std::vector<double> masses{0.3, 0.01, -0.05, 2.0};
  for (const Backend backend : {Backend::cpu, Backend::gpu_emulated})
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
      KernelChoice choice;
      choice.backend = backend;
      const StaggeredMatrix matrix(std::make_shared<StaggeredLinks>(U, choice), {}, 1.0);
      SpinorField b = matrix.hopping().make_field(Subset::full, 2);
      test::to_product(b, test::random_vectors(L, 5), 1);  // column 0 is zero
      std::vector<SpinorField> x;
      const SolveReport report = solve_masses(matrix, masses, x, b, to_tolerance(1e-10, precision));
      EXPECT_TRUE(report.converged) << report.summary();
      ASSERT_EQ(report.relative_residual.size(), 8u);
      for (size_t k = 0; k < masses.size(); ++k) {
        const auto found = residual(matrix, masses[k], x[k], b);
        EXPECT_EQ(report.relative_residual[2 * k], 0.0);
        EXPECT_LE(report.relative_residual[2 * k + 1], 1e-10);
        EXPECT_NEAR(found[1], report.relative_residual[2 * k + 1], 1e-14);
      }
    }
}

TEST(StaggeredMasses, zero_sources_and_spent_iterations_are_said) {
  const auto lattice = make_lattice({4, 4, 4, 4});
  const GaugeField U = test::to_product(lattice, test::random_gauge({4, 4, 4, 4}, 21));
  const StaggeredMatrix matrix(std::make_shared<StaggeredLinks>(U), {}, 1.0);
  SpinorField b = matrix.hopping().make_field(Subset::full, 1);
  std::vector<SpinorField> x;
  SolveReport report = solve_masses(matrix, {0.1}, x, b, to_tolerance(1e-10));
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.reason, StopReason::zero_source);
  EXPECT_EQ(norm2(x[0]), 0.0);
  test::to_product(b, test::random_vectors({4, 4, 4, 4}, 5));
  MultiShiftSpec short_spec = to_tolerance(1e-10);
  short_spec.max_iterations = 3;
  report = solve_masses(matrix, {0.1, 0.2}, x, b, short_spec);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.reason, StopReason::max_iterations);
  EXPECT_EQ(report.iterations, 6);  // each parity has three
  EXPECT_THROW(solve_masses(matrix, {0.1, 0.0}, x, b, to_tolerance(1e-10)), BadArgument);
  EXPECT_THROW(solve_masses(matrix, {}, x, b, to_tolerance(1e-10)), BadArgument);
}

}  // namespace in_test_staggered_masses
}  // namespace trellis
