// timeout: 600
/// Low modes by block Lanczos agree with dense diagonalisation, and solves are deflated with them.
#include <gtest/gtest.h>

#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/five_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/solver/eigen/block_lanczos.hpp"
#include "trellis/solver/eigen/hermitian_matrix.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/deflated.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_lanczos {

TEST(HermitianMatrix, jacobi_equals_dense_diagonalisation) {
  test::Random random(1);
  for (const int n : {1, 2, 7, 40}) {
    DenseMatrix H(n);
    test::DenseMatrix expected(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = i; j < n; ++j) {
        H.at(i, j) = i == j ? std::complex<double>(random.symmetric())
                            : std::complex(random.symmetric(), random.symmetric());
        if (i > 2) H.at(i, j) *= 1e-6;  // the spectrum is wide and nearly degenerate
        expected(i, j) = H.at(i, j);
        expected(j, i) = std::conj(H.at(i, j));
      }
    const HermitianEigensystem found = diagonalise(H);
    const Eigen::VectorXd values = test::hermitian_eigenvalues(expected);
    for (int k = 0; k < n; ++k) {
      EXPECT_NEAR(found.values[size_t(k)], values(k), 1e-13 * expected.norm());
      test::DenseVector v(n);
      for (int i = 0; i < n; ++i) v(i) = found.vectors.at(i, k);
      EXPECT_NEAR(v.norm(), 1.0, 1e-13);
      EXPECT_LT((expected * v - found.values[size_t(k)] * v).norm(), 1e-12 * expected.norm());
    }
  }
  DenseMatrix bad(2);
  bad.at(0, 1) = std::nan("");
  EXPECT_THROW(diagonalise(bad), NumericError);
}

/// Returns all numbers of a field of one right-hand side.
test::DenseVector to_dense(const SpinorField& f) {
  std::vector<std::complex<double>> numbers;
  const Geometry& g = f.geometry();
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const SitePosition at = f.layout().position(site_coord(site, g.local()));
    if (at.parity < first_parity(f.subset()) || at.parity > last_parity(f.subset())) continue;
    for (int slot = 0; slot < f.slots(); ++slot) {
      std::complex<double> spinor[12];
      f.get_site(at, slot, reinterpret_cast<double*>(spinor));
      numbers.insert(numbers.end(), spinor, spinor + 12);
    }
  }
  return Eigen::Map<test::DenseVector>(numbers.data(), Eigen::Index(numbers.size()));
}

/// Returns eigenvalues of A^dagger A, ascending.
Eigen::VectorXd dense_eigenvalues(const LinearOperator& A) {
  SpinorField in = A.make_field(1), out = A.make_field(1);
  const Geometry& g = in.geometry();
  test::DenseMatrix matrix;
  Eigen::Index column = 0;
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const SitePosition at = in.layout().position(site_coord(site, g.local()));
    if (at.parity < first_parity(in.subset()) || at.parity > last_parity(in.subset())) continue;
    for (int slot = 0; slot < in.slots(); ++slot)
      for (int k = 0; k < 24; k += 2) {
        double spinor[24] = {};
        spinor[k] = 1;
        set_zero(in);
        in.set_site(at, slot, spinor);
        A.apply(out, in);
        const test::DenseVector image = to_dense(out);
        if (matrix.size() == 0) matrix.resize(image.size(), image.size());
        matrix.col(column++) = image;
      }
  }
  return test::hermitian_eigenvalues(matrix.adjoint() * matrix);
}

SpinorField some_field(const LinearOperator& A, int rhs) {
  SpinorField b = A.make_field(rhs);
  test::Random random(5);
  const Geometry& g = b.geometry();
  for (int64_t site = 0; site < g.local_volume(); ++site) {
    const SitePosition at = b.layout().position(site_coord(site, g.local()));
    for (int slot = 0; slot < b.slots(); ++slot) {
      double spinor[24];
      for (double& x : spinor) x = random.symmetric();
      if (at.parity >= first_parity(b.subset()) && at.parity <= last_parity(b.subset()))
        b.set_site(at, slot, spinor);
    }
  }
  return b;
}

/// Checks eigenvalues and residuals, and that the same solution needs fewer iterations (at most `fraction`).
void expect_low_modes(const LinearOperatorPtr& A, const LanczosSpec& spec, double fraction = 0.95) {
  const Eigenvectors modes = lanczos(A, spec);
  ASSERT_TRUE(modes.converged) << A->name();
  ASSERT_EQ(modes.count(), spec.count);
  const Eigen::VectorXd expected = dense_eigenvalues(*A);
  const double largest = expected(expected.size() - 1);
  EXPECT_GT(modes.upper, 0.999 * largest) << A->name();
  for (int k = 0; k < spec.count; ++k) {
    EXPECT_NEAR(modes.values[size_t(k)], expected(k), 1e-12 * largest) << A->name() << ", mode " << k;
    EXPECT_LE(modes.relative_residual[size_t(k)], 1.01 * spec.tolerance);
  }
  const SpinorField b = some_field(*A, 2);
  for (const SolverSpec& plain :
       {SolverSpec(CgSpec{.tolerance = 1e-11}),
        SolverSpec(MixedPrecisionSpec{CgSpec{.tolerance = 1e-11}, Precision::half_precision})}) {
    SpinorField x = A->make_field(2), y = A->make_field(2);
    const SolveReport without = solve(plain, *A, x, b);
    DeflatedSpec deflated;
    deflated.vectors = std::make_shared<Eigenvectors>(modes);
    deflated.solver = plain;
    const SolveReport with = solve(deflated, *A, y, b);
    EXPECT_TRUE(with.converged) << with.summary();
    EXPECT_LE(relative_residual(*A, y, b)[1], 1e-11);
    EXPECT_NEAR(with.relative_residual[1], relative_residual(*A, y, b)[1], 1e-13);
    combine(y, 1.0, y, -1.0, x);
    EXPECT_LT(std::sqrt(norm2(y) / norm2(x)), 1e-9) << A->name();
    EXPECT_LT(with.iterations, fraction * without.iterations) << A->name();
  }
}

GaugeField links(const Coord& extents) {
  return test::to_product(make_lattice(extents), test::random_gauge(extents, 21, 0.4));
}

LanczosSpec small(int count, Precision storage) {
  LanczosSpec spec;
  spec.count = count;
  spec.tolerance = 1e-9;
  spec.storage = storage;
  return spec;
}

TEST(Lanczos, wilson_clover_and_twisted_mass) {
  const GaugeField U = links({2, 4, 2, 4});
  WilsonParams clover;
  clover.mass = -0.4;
  clover.csw_spatial = clover.csw_temporal = 1.0;
  WilsonParams twisted;
  twisted.mass = -0.6;
  twisted.twisted_mass = 0.05;
  for (const WilsonParams& p : {clover, twisted}) {
    const auto matrix = std::make_shared<WilsonMatrix>(U, p, KernelChoice{});
    expect_low_modes(std::make_shared<WilsonSchur>(matrix, SchurForm::symmetric),
                     small(12, Precision::single_precision));
    expect_low_modes(std::make_shared<WilsonSchur>(matrix, SchurForm::asymmetric),
                     small(12, Precision::half_precision));
  }
  const auto matrix = std::make_shared<WilsonMatrix>(U, clover, KernelChoice{});
  LanczosSpec fixed = small(10, Precision::double_precision);
  fixed.block = 1;
  fixed.degree = 12;
  fixed.cutoff = 1.0;
  expect_low_modes(std::make_shared<WilsonOperator>(matrix), fixed);
}

TEST(Lanczos, domain_wall) {
  const auto matrix =
      std::make_shared<DomainWallMatrix>(links({2, 2, 2, 4}), test::moebius(0.01, 4, 1.5, 0.5));
  for (const SchurForm form : {SchurForm::symmetric, SchurForm::asymmetric})
    expect_low_modes(std::make_shared<DomainWallSchur>(matrix, form), small(16, Precision::half_precision));
}

TEST(Lanczos, wilson_on_F4) {
  TRELLIS_NEEDS_DATA();
  const GaugeField U = test::to_product(make_lattice({4, 4, 4, 4}), test::field_F4());
  WilsonParams p;
  p.mass = -0.8;
  const auto matrix = std::make_shared<WilsonMatrix>(U, p, KernelChoice{});
  expect_low_modes(std::make_shared<WilsonSchur>(matrix, SchurForm::symmetric),
                   small(16, Precision::single_precision), 0.7);
}

TEST(Lanczos, refuses_what_does_not_fit) {
  const GaugeField U = links({2, 2, 2, 2}), V = links({2, 2, 2, 4});
  WilsonParams p;
  p.mass = 0.1;
  const auto matrix = std::make_shared<WilsonMatrix>(U, p, KernelChoice{});
  const auto A = std::make_shared<WilsonSchur>(matrix, SchurForm::symmetric);
  LanczosSpec spec = small(4, Precision::double_precision);
  spec.basis = 8;
  EXPECT_THROW(lanczos(A, spec), BadArgument);
  spec.basis = 1000;
  EXPECT_THROW(lanczos(A, spec), BadArgument);
  spec.basis = 0;
  const auto modes = std::make_shared<Eigenvectors>(lanczos(A, spec));
  DeflatedSpec deflated{CgSpec{}, modes};
  p.mass = 1.5;  // this is another operator
  for (const GaugeField& links : {U, V}) {
    const WilsonSchur B(std::make_shared<WilsonMatrix>(links, p, KernelChoice{}), SchurForm::symmetric);
    SpinorField b = B.make_field(1), x = B.make_field(1);
    EXPECT_THROW(solve(deflated, B, x, b), BadArgument);
  }
  // The source is zero, or iterations are too few.
  SpinorField b = A->make_field(1), x = A->make_field(1);
  EXPECT_TRUE(solve(deflated, *A, x, b).converged);
  deflated.solver = CgSpec{.tolerance = 1e-12, .max_iterations = 2};
  const SolveReport report = solve(deflated, *A, x, some_field(*A, 1));
  EXPECT_FALSE(report.converged);
  EXPECT_GT(report.largest_residual(), 1e-12);
}

}  // namespace in_test_lanczos
}  // namespace trellis
