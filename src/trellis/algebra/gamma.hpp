#pragma once
/// The sixteen products of gamma matrices are sparse 4x4 matrices (one entry per row), for contractions,
/// sources and tests. Product n has the bits x = 1, y = 2, z = 4, t = 8: gamma(15) = gamma5, gamma(0) = 1.
#include <array>
#include <complex>
#include <string>

namespace trellis {

/// It is the imaginary unit.
inline constexpr std::complex<double> i1{0.0, 1.0};

/// The matrix acts as (Gamma psi)_row = phase[row] psi_{column[row]}, with phases in {1, i, -1, -i}.
struct GammaMatrix {
  std::array<int, 4> column{0, 1, 2, 3};
  std::array<std::complex<double>, 4> phase{1.0, 1.0, 1.0, 1.0};
};

GammaMatrix operator*(const GammaMatrix& a, const GammaMatrix& b);
GammaMatrix operator*(std::complex<double> s, const GammaMatrix& a);
GammaMatrix adjoint(const GammaMatrix& a);
GammaMatrix transpose(const GammaMatrix& a);
bool operator==(const GammaMatrix& a, const GammaMatrix& b);

/// Returns gamma_mu, mu = 0..3 = x, y, z, t (DeGrand-Rossi).
GammaMatrix gamma_mu(int mu);
/// Returns the product gamma_x^{n0} gamma_y^{n1} gamma_z^{n2} gamma_t^{n3} with n = n0 + 2 n1 + 4 n2 + 8 n3.
GammaMatrix gamma_product(int n);

/// Parses "gamma5", "1", "gamma_x", "gamma_t gamma5", "sigma_xy" (= i/2 [gamma_x, gamma_y]) and products of
/// these separated by blanks. Throws BadArgument that lists the legal names.
GammaMatrix gamma_by_name(const std::string& name);

}  // namespace trellis
