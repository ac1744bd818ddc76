#include "tests/support/multigrid_fields.hpp"

#include <algorithm>

namespace trellis::test {

void expect_values(const std::vector<double>& found, const nlohmann::json& expected, double tolerance,
                   const std::string& what) {
  ASSERT_LE(expected.size(), found.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(relative_error(found[i], expected.at(i).get<double>()), tolerance) << what << " " << i;
}

std::vector<double> image_norms(const reference::LevelOperator& D,
                                const std::vector<reference::LevelVector>& vectors) {
  std::vector<double> norms;
  for (const auto& v : vectors) norms.push_back(std::sqrt(reference::norm2(D.apply(v))));
  return norms;
}

std::vector<double> residuals_of_cycles(const MultigridSystem& s, const reference::Schwarz& sap,
                                        const reference::LevelVector& b) {
  std::vector<double> residuals;
  reference::LevelVector x(b.size(), Complex<double>{0, 0});
  for (int i = 0; i < 5; ++i) {
    sap.cycle(x, b);
    residuals.push_back(
        std::sqrt(reference::norm2(reference::difference(b, s.D->apply(x))) / reference::norm2(b)));
  }
  return residuals;
}

void expect_coarse(const std::string& id, const reference::Prolongator& P,
                   const reference::CoarseOperator& D_c, double tolerance) {
  const nlohmann::json& expected = multigrid_gold(id);
  const int n = D_c.components();
  const auto near = [&](double found, const std::string& name) {
    EXPECT_LT(relative_error(found, expected.at(name).get<double>()), tolerance) << id << " " << name;
  };
  EXPECT_EQ(D_c.size(), expected.at("dim").get<size_t>());
  const DenseMatrix one =
      dense_matrix(D_c.size(), [&](const reference::LevelVector& v) { return P.restrict(P.prolong(v)); });
  EXPECT_LT((one - DenseMatrix::Identity(one.rows(), one.cols())).cwiseAbs().maxCoeff(), 1e-14) << id;
  const DenseMatrix D = to_dense(D_c.dense());
  DenseMatrix Q = D;
  double self = 0;
  for (Eigen::Index i = 0; i < D.rows(); ++i) {
    if (i % n >= n / 2) Q.row(i) *= -1;
    self += D.row(i).segment(i / n * n, n).squaredNorm();
  }
  EXPECT_LT((Q - Q.adjoint()).cwiseAbs().maxCoeff(), 1e-14) << id;
  Eigen::VectorXd values = hermitian_eigenvalues(Q).cwiseAbs();
  std::sort(values.begin(), values.end());
  expect_values({values.begin(), values.end()}, expected.at("lowest4_abs_Qc"), tolerance, id);
  near(values[values.size() - 1], "largest_abs_Qc");
  near(reference::LU(D_c.dense()).log_abs_determinant(), "logabsdet");
  near(D.trace().real(), "trace_re");
  EXPECT_LT(std::abs(D.trace().imag()), tolerance * D.norm()) << id;  // gamma5-hermitian: real
  near(D.norm(), "frobenius");
  near(std::sqrt(self), "frobenius_self");
  if (expected.contains("frobenius_hops")) near(std::sqrt(D.squaredNorm() - self), "frobenius_hops");
  if (!expected.contains("eig_Dc_smallest_abs")) return;
  const DenseVector spectrum = eigenvalues(D);
  near(spectrum.cwiseAbs().minCoeff(), "eig_Dc_smallest_abs");
  near(spectrum.real().minCoeff(), "eig_Dc_smallest_real");
}

}  // namespace trellis::test
