// timeout: 600
/// The weights of rooted flavours are those that their monomials compute on a 4^4 configuration: rational
/// functions of the operator as matrices. Their determinants are powers of the published one, one flavour
/// taken twice is two flavours, and heat bath and action belong together.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/update/rational_monomial.hpp"
#include "trellis/update/staggered_fermion.hpp"

namespace trellis {
namespace in_test_rooted_weights {

constexpr double mass = 0.5;

/// Returns x^-a, 0 < a < 1, on [mass^2, 6]: sin(pi a) / pi int du e^(u (1 - a)) / (x + e^u) by the trapezoid
/// rule, whose error is 2 exp(-2 pi^2 / h); the tails are cut where they are below 1e-12.
RationalFunction negative_power(double a) {
  const double h = 0.7, small = std::log(1e-12);
  const double first = std::log(mass * mass) + small / (1 - a), last = std::log(6.0) - small / a;
  RationalFunction r;
  for (double u = first; u < last; u += h) {
    r.shifts.push_back(std::exp(u));
    r.residues.push_back(h * std::sin(std::numbers::pi * a) / std::numbers::pi * std::exp(u * (1 - a)));
  }
  return r;
}
/// Returns x^b = x x^-(1 - b), with x / (x + t) = 1 - t / (x + t).
RationalFunction positive_power(double b) {
  RationalFunction r = negative_power(1 - b);
  for (size_t k = 0; k < r.shifts.size(); ++k) {
    r.constant += r.residues[k];
    r.residues[k] *= -r.shifts[k];
  }
  return r;
}

/// Returns r(A) as a matrix, by the solves that monomials make.
test::DenseMatrix matrix_of(StaggeredFermion& fermion, const RationalFunction& r, Monomial& monomial) {
  const LinearOperatorPtr A = fermion.op();
  const int batch = 12;
  SpinorField in = A->make_field(batch), out = A->make_field(batch);
  const SiteLayout& layout = in.layout();
  const int n = layout.blocks() * layout.lanes();
  const auto at = [&](int site) { return SitePosition{0, site / layout.lanes(), site % layout.lanes()}; };
  test::DenseMatrix M(3 * n, 3 * n);
  std::vector<SpinorField> x;
  for (int column = 0; column < 3 * n; column += batch) {
    set_zero(in);
    for (int k = 0; k < batch; ++k) {
      double unit[6] = {};
      unit[2 * ((column + k) % 3)] = 1;
      in.set_site(at((column + k) / 3), k, unit);
    }
    apply_rational(out, x, fermion, {r, 1e-13}, in, monomial);
    for (int k = 0; k < batch; ++k)
      for (int site = 0; site < n; ++site)
        for (int c = 0; c < 3; ++c)
          M(3 * site + c, column + k) = {out.get(at(site), k, 2 * c), out.get(at(site), k, 2 * c + 1)};
  }
  return M;
}

double log_determinant(const test::DenseMatrix& M) {
  double sum = 0;
  for (const double l : test::hermitian_eigenvalues((M + M.adjoint()) / 2)) sum += std::log(l);
  return sum;
}

TEST(RootedWeights, on_F4) {
  TRELLIS_NEEDS_DATA();
  const reference::Gauge thin = test::field_F4();
  const GaugeField U = test::to_product(make_lattice(thin.extents), thin);
  const auto links = std::make_shared<SmearedLinks>(isotropic_stout(0.0), 0);
  const auto fermion =
      std::make_shared<StaggeredFermion>(std::make_shared<StaggeredSea>(), StaggeredPhases{}, mass);
  RationalMonomial monomial("light", links, fermion, {});
  fermion->set_links(links->at(U), links->version());

  const double logdet = test::gold("stag.thin.m0.5.F4").at("logdet_even").get<double>();
  // The action of n_f flavours with one pseudofermion has A^(-n_f/4).
  const test::DenseMatrix one = matrix_of(*fermion, negative_power(0.25), monomial);
  const test::DenseMatrix two = matrix_of(*fermion, negative_power(0.5), monomial);
  EXPECT_LT(test::relative_error(-4 * log_determinant(one), logdet), 1e-9);
  EXPECT_LT(test::relative_error(-2 * log_determinant(two), logdet), 1e-9);
  // One flavour taken twice is two flavours.
  EXPECT_LT((one * one - two).norm() / two.norm(), 1e-10);
  // The heat bath phi = A^(n_f/8) eta makes phi^dagger A^(-n_f/4) phi = |eta|^2.
  const test::DenseMatrix draw = matrix_of(*fermion, positive_power(0.125), monomial);
  EXPECT_LT((draw.adjoint() * one * draw - test::DenseMatrix::Identity(one.rows(), one.cols())).norm(), 1e-8);
  // Four flavours need no approximation: r(x) = 1 / x.
  const test::DenseMatrix four = matrix_of(*fermion, {0, {1.0}, {0.0}}, monomial);
  EXPECT_LT((two * two - four).norm() / four.norm(), 1e-10);
  EXPECT_LT(test::relative_error(-log_determinant(four), logdet), 1e-11);
}

}  // namespace in_test_rooted_weights
}  // namespace trellis
