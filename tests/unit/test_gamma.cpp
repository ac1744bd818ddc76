/// The gamma matrices have the Clifford algebra, the DeGrand-Rossi basis of the USQCD programs and their
/// names.
#include <gtest/gtest.h>

#include "trellis/algebra/gamma.hpp"
#include "trellis/base/error.hpp"

namespace trellis {
namespace in_test_gamma {

using Dense = std::array<std::array<std::complex<double>, 4>, 4>;
constexpr std::complex<double> i1{0, 1};

Dense dense(const GammaMatrix& g) {
  Dense d{};
  for (size_t row = 0; row < 4; ++row) d[row][size_t(g.column[row])] = g.phase[row];
  return d;
}

Dense product(const Dense& a, const Dense& b) {
  Dense r{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 4; ++k) r[i][j] += a[i][k] * b[k][j];
  return r;
}

TEST(Gamma, degrand_rossi_basis) {
  const Dense expected[4] = {
      {{{0, 0, 0, i1}, {0, 0, i1, 0}, {0, -i1, 0, 0}, {-i1, 0, 0, 0}}},
      {{{0, 0, 0, -1}, {0, 0, 1, 0}, {0, 1, 0, 0}, {-1, 0, 0, 0}}},
      {{{0, 0, i1, 0}, {0, 0, 0, -i1}, {-i1, 0, 0, 0}, {0, i1, 0, 0}}},
      {{{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}}},
  };
  for (int mu = 0; mu < 4; ++mu) EXPECT_EQ(dense(gamma_mu(mu)), expected[mu]) << "mu = " << mu;
}

TEST(Gamma, anticommutators) {
  for (int mu = 0; mu < 4; ++mu)
    for (int nu = 0; nu < 4; ++nu) {
      const Dense a = dense(gamma_mu(mu) * gamma_mu(nu)), b = dense(gamma_mu(nu) * gamma_mu(mu));
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j)
          EXPECT_EQ(a[i][j] + b[i][j], std::complex<double>(mu == nu && i == j ? 2.0 : 0.0));
    }
}

TEST(Gamma, gamma5_is_diagonal_and_anticommutes) {
  const GammaMatrix gamma5{{0, 1, 2, 3}, {1.0, 1.0, -1.0, -1.0}};
  EXPECT_EQ(gamma_product(15), gamma5);
  EXPECT_EQ(gamma_mu(0) * gamma_mu(1) * gamma_mu(2) * gamma_mu(3), gamma5);
  for (int mu = 0; mu < 4; ++mu)
    EXPECT_EQ(gamma5 * gamma_mu(mu), std::complex<double>(-1) * (gamma_mu(mu) * gamma5));
}

TEST(Gamma, sparse_operations_are_those_of_matrices) {
  for (int n = 0; n < 16; ++n)
    for (int m = 0; m < 16; ++m) {
      const GammaMatrix a = gamma_product(n), b = gamma_product(m);
      EXPECT_EQ(dense(a * b), product(dense(a), dense(b)));
      const Dense t = dense(transpose(a)), h = dense(adjoint(a)), d = dense(a);
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j) {
          EXPECT_EQ(t[i][j], d[j][i]);
          EXPECT_EQ(h[i][j], std::conj(d[j][i]));
        }
    }
  for (int mu = 0; mu < 4; ++mu) EXPECT_EQ(adjoint(gamma_mu(mu)), gamma_mu(mu));
}

TEST(Gamma, sixteen_products_are_orthogonal) {
  for (int n = 0; n < 16; ++n)
    for (int m = 0; m < 16; ++m) {
      const Dense d = dense(adjoint(gamma_product(n)) * gamma_product(m));
      EXPECT_EQ(d[0][0] + d[1][1] + d[2][2] + d[3][3], std::complex<double>(n == m ? 4.0 : 0.0));
    }
}

TEST(Gamma, names) {
  EXPECT_EQ(gamma_by_name("1"), gamma_product(0));
  EXPECT_EQ(gamma_by_name("gamma5"), gamma_product(15));
  EXPECT_EQ(gamma_by_name("gamma_x"), gamma_mu(0));
  EXPECT_EQ(gamma_by_name("gamma_t gamma5"), gamma_mu(3) * gamma_product(15));
  // The definition is sigma_munu = (i/2) [gamma_mu, gamma_nu].
  EXPECT_EQ(gamma_by_name("sigma_xy"), i1 * (gamma_mu(0) * gamma_mu(1)));
  EXPECT_EQ(gamma_by_name("sigma_yx"), -i1 * (gamma_mu(0) * gamma_mu(1)));
  for (const char* wrong : {"", "  ", "gamma", "gamma_q", "gamma6", "sigma_xx", "gamma_x*gamma_y"})
    EXPECT_THROW(gamma_by_name(wrong), BadArgument) << "'" << wrong << "'";
  try {
    gamma_by_name("gamma_q");
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what()).find("gamma5"), std::string::npos)
        << "the message lists the legal names";
  }
  EXPECT_THROW(gamma_mu(4), BadArgument);
  EXPECT_THROW(gamma_product(16), BadArgument);
}

}  // namespace in_test_gamma
}  // namespace trellis
