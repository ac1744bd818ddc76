// timeout: 600
/// The staggered operator and its link derivative agree with numbers of others: determinants, traces, pions
/// and derivatives on F4, MILC's asqtad inverses, the imaginary chemical potential, the Hofstadter spectrum.
#include <gtest/gtest.h>

#include <numbers>

#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/staggered_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/staggered_derivative.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_staggered {

using test::relative_error;
using test::rounding;

StaggeredPhases phases_of(const nlohmann::json& parameters) {
  StaggeredPhases phases;
  phases.mu_over_ipiT = parameters.at("mu_over_ipiT").get<double>();
  const std::vector<std::string> planes{"xy", "xz", "xt", "yz", "yt", "zt"};
  for (const auto& [name, k] : parameters.at("flux").items())
    phases.flux[size_t(std::find(planes.begin(), planes.end(), name) - planes.begin())] = k.get<int>();
  return phases;
}

/// Returns m^2 - D_eo D_oe as a matrix, through the product's operator.
test::DenseMatrix dense_even(const StaggeredSchur& S) {
  const SiteLayout& layout = S.make_field().layout();
  const int n = layout.blocks() * layout.lanes(), batch = 6;
  test::DenseMatrix A(3 * n, 3 * n);
  SpinorField in = S.make_field(batch), out = S.make_field(batch);
  const auto at = [&](int site) { return SitePosition{0, site / layout.lanes(), site % layout.lanes()}; };
  for (int column = 0; column < 3 * n; column += batch) {
    set_zero(in);
    for (int r = 0; r < batch; ++r) {
      double unit[6] = {};
      unit[2 * ((column + r) % 3)] = 1;
      in.set_site(at((column + r) / 3), r, unit);
    }
    S.apply(out, in);
    for (int r = 0; r < batch; ++r)
      for (int site = 0; site < n; ++site)
        for (int c = 0; c < 3; ++c)
          A(3 * site + c, column + r) = {out.get(at(site), r, 2 * c), out.get(at(site), r, 2 * c + 1)};
  }
  return A;
}

/// Returns the columns of a matrix as right-hand sides.
SpinorField columns_as_field(const StaggeredSchur& S, const test::DenseMatrix& columns) {
  SpinorField field = S.make_field(int(columns.cols()));
  const int lanes = field.layout().lanes();
  for (int r = 0; r < columns.cols(); ++r)
    for (int site = 0; site < columns.rows() / 3; ++site) {
      double reals[6];
      for (int c = 0; c < 3; ++c) {
        reals[2 * c] = columns(3 * site + c, r).real();
        reals[2 * c + 1] = columns(3 * site + c, r).imag();
      }
      field.set_site({0, site / lanes, site % lanes}, r, reals);
    }
  return field;
}

/// Returns sum Re tr(G X U) with the hash direction of gold.md.
double along_hash_direction(const LinkDerivative& G, const GaugeField& U) {
  const auto X = test::hash_direction(U.geometry().lattice());
  double sum = 0;
  for (int64_t site = 0; site < U.geometry().volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, U.geometry().lattice());
      const Link g = G.matrix(x, mu), u = U.link(x, mu);
      const auto& xi = X[size_t(4 * site + mu)];
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          for (int k = 0; k < 3; ++k)
            sum += (g[size_t(3 * i + j)] * std::complex<double>(xi.e[j][k].re, xi.e[j][k].im) *
                    u[size_t(3 * k + i)])
                       .real();
    }
  return sum;
}

TEST(Staggered, determinants_and_their_derivatives_on_F4) {
  TRELLIS_NEEDS_DATA();
  const reference::Gauge thin = test::field_F4();
  const auto lattice = make_lattice(thin.extents);
  const GaugeField U = test::to_product(lattice, thin);
  const auto links = std::make_shared<StaggeredLinks>(U);
  for (const std::string prefix : {"stag.thin", "stag.mu0.3", "stag.bz_k-3", "stag.ez_xt_k1"}) {
    const auto matrix =
        std::make_shared<StaggeredMatrix>(links, phases_of(test::gold_parameters(prefix + ".m0.1.F4")), 0.1);
    const StaggeredSchur S(matrix);
    const test::HermitianEigen eigen = test::hermitian_eigen(dense_even(S));
    double logdet = 0, trace = 0;
    for (const double l : eigen.values) {
      logdet += std::log(l);
      trace += 0.1 / l;
    }
    const auto& gold = test::gold(prefix + ".m0.1.F4");
    EXPECT_LT(relative_error(logdet, gold.at("logdet_even").get<double>()), 1e-11) << prefix;
    EXPECT_LT(relative_error(2 * trace / double(lattice->volume()), gold.at("trMinv_over_V").get<double>()),
              1e-11)
        << prefix;
    // The derivative is d log det A = sum_j v_j^dagger dA v_j / lambda_j.
    LinkDerivative G(U);
    const StaggeredLinkDerivative derivative(matrix);
    for (Eigen::Index j = 0; j < eigen.values.size(); ++j) {
      const SpinorField v = columns_as_field(S, eigen.vectors.col(j));
      derivative.add(G, nullptr, {&v}, {1.0 / eigen.values[j]});
    }
    EXPECT_LT(relative_error(along_hash_direction(G, U), gold.at("dlogdet_dt_along_X").get<double>()), 1e-10)
        << prefix;
  }
}

/// With uniform flux on unit links D^2 in the plane (x, y) has Hofstadter's spectrum.
TEST(Staggered, hofstadter_spectrum_on_unit_links) {
  const Coord L{6, 6, 2, 2};
  const auto lattice = make_lattice(L);
  StaggeredPhases phases;
  phases.boundary = {1.0, 1.0, 1.0, 1.0};  // sin p vanishes in z and t
  phases.flux[0] = 3;
  const double alpha = 3.0 / (L[0] * L[1]);
  const auto matrix =
      std::make_shared<StaggeredMatrix>(std::make_shared<StaggeredLinks>(GaugeField(lattice)), phases, 1.0);
  Eigen::VectorXd seen = test::hermitian_eigenvalues(dense_even(StaggeredSchur(matrix)));
  // The other spectrum is that of one plane, without the product.
  const int n = L[0] * L[1];
  test::DenseMatrix D = test::DenseMatrix::Zero(n, n);
  for (int y = 0; y < L[1]; ++y)
    for (int x = 0; x < L[0]; ++x) {
      const int here = x + L[0] * y, right = (x + 1) % L[0] + L[0] * y, up = x + L[0] * ((y + 1) % L[1]);
      const double wrap = x == L[0] - 1 ? -2 * std::numbers::pi * alpha * L[0] * y : 0.0;
      const std::complex<double> ux = std::polar(0.5, wrap);
      const std::complex<double> uy =
          std::polar(0.5, 2 * std::numbers::pi * alpha * x) * (x % 2 ? -1.0 : 1.0);
      D(here, right) += ux;
      D(right, here) -= std::conj(ux);
      D(here, up) += uy;
      D(up, here) -= std::conj(uy);
    }
  const Eigen::VectorXd plane = test::hermitian_eigenvalues(-D * D);
  // The plane (z, t) has extents 2 without phases: forward and backward hops cancel, and each level occurs
  // for 3 colours and 4 sites; half of all sites are even.
  Eigen::VectorXd expected(seen.size());
  for (Eigen::Index i = 0; i < expected.size(); ++i) expected[i] = 1.0 + plane[i / 6];
  std::sort(expected.begin(), expected.end());
  EXPECT_LT((seen - expected).cwiseAbs().maxCoeff(), rounding(500));
  // Half a quantum a plaquette cancels the staggered phases of the plane: D = i (sin p_x + sin p_y).
  phases.flux[0] = n / 2;
  const auto half = std::make_shared<StaggeredMatrix>(matrix->hopping().links(), phases, 1.0);
  seen = test::hermitian_eigenvalues(dense_even(StaggeredSchur(half)));
  for (Eigen::Index i = 0; i < expected.size(); ++i) {
    const int p = int(i / 6);
    expected[i] = 1.0 + std::pow(std::sin(2 * std::numbers::pi * (p % L[0]) / L[0]) +
                                     std::sin(2 * std::numbers::pi * (p / L[0]) / L[1]),
                                 2);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_LT((seen - expected).cwiseAbs().maxCoeff(), rounding(500));
}

/// U_t -> exp(2 pi i / 3) U_t on one time slice equals mu_over_ipiT + 2/3.
TEST(Staggered, centre_element_is_a_chemical_potential) {
  const Coord L{4, 4, 2, 6};
  const auto lattice = make_lattice(L);
  reference::Gauge U = test::random_gauge(L, 5);
  StaggeredPhases before, after;
  before.mu_over_ipiT = 0.17;
  after.mu_over_ipiT = 0.17 + 2.0 / 3.0;
  const auto logdet = [&](const reference::Gauge& V, const StaggeredPhases& phases) {
    const auto links = std::make_shared<StaggeredLinks>(test::to_product(lattice, V));
    const StaggeredSchur S(std::make_shared<StaggeredMatrix>(links, phases, 0.2));
    double sum = 0;
    for (const double l : test::hermitian_eigenvalues(dense_even(S))) sum += std::log(l);
    return sum;
  };
  const double shifted = logdet(U, after), unrotated = logdet(U, before);
  const Complex<double> z{std::cos(2 * std::numbers::pi / 3), std::sin(2 * std::numbers::pi / 3)};
  for (int64_t x = 0; x < U.volume(); ++x)
    if (site_coord(x, L)[3] == 2) U.link(x, 3) = z * U.link(x, 3);
  EXPECT_LT(relative_error(logdet(U, before), shifted), 1e-12);
  EXPECT_GT(relative_error(unrotated, shifted), 1e-3);
}

/// Conjugate gradients on the even sites give the sum over space and colours of |M^-1(x, t; 0)|^2.
TEST(Staggered, pions_on_F8) {
  TRELLIS_NEEDS_DATA();
  const reference::Gauge thin = test::field_F8();
  const auto lattice = make_lattice(thin.extents);
  const auto links = std::make_shared<StaggeredLinks>(test::to_product(lattice, thin));
  for (const std::string id : {"stag.thin.m0.1.F8", "stag.mu0.3.m0.1.F8", "stag.bz_k2.m0.1.F8"}) {
    const auto matrix = std::make_shared<StaggeredMatrix>(links, phases_of(test::gold_parameters(id)), 0.1);
    const StaggeredSchur S(matrix);
    SpinorField b = StaggeredOperator(matrix).make_field(3), x = SpinorField::like(b);
    for (int c = 0; c < 3; ++c) {
      double unit[6] = {};
      unit[2 * c] = 1;
      b.set_site(b.layout().position({0, 0, 0, 0}), c, unit);
    }
    SpinorField source = S.make_field(3), even = S.make_field(3);
    S.prepare_source(source, b);
    ASSERT_TRUE(solve(CgSpec{1e-13}, S, even, source).converged);
    S.reconstruct(x, even, b);
    std::vector<double> C(8, 0.0);
    for (int c = 0; c < 3; ++c) {
      const auto values = test::canonical_part(x, c);
      for (size_t i = 0; i < values.size(); ++i) C[i / (6 * 512)] += values[i] * values[i];
    }
    for (size_t t = 0; t < 8; ++t)
      EXPECT_LT(relative_error(C[t], test::gold(id).at("pion")[t].get<double>()), 1e-10)
          << id << " t = " << t;
  }
}

}  // namespace in_test_staggered
}  // namespace trellis
