#include "reference/gauge.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

Gauge unit_gauge(const Coord& extents) {
  return {extents, std::vector<ColorMatrix<double>>(size_t(4 * product(extents)), identity_matrix<double>())};
}

int64_t neighbour(int64_t site, int step, const Coord& extents) {
  Coord x = site_coord(site, extents);
  const int mu = direction(step);
  x[mu] = (x[mu] + (step == forward(mu) ? 1 : extents[mu] - 1)) % extents[mu];
  return site_index(x, extents);
}

ColorMatrix<double> path(const Gauge& U, int64_t site, const std::vector<int>& steps) {
  ColorMatrix<double> W = identity_matrix<double>();
  for (const int step : steps) {
    const int mu = direction(step);
    const int64_t next = neighbour(site, step, U.extents);
    W = W * (step == forward(mu) ? U.link(site, mu) : dagger(U.link(next, mu)));
    site = next;
  }
  return W;
}

ColorMatrix<double> plaquette_loop(const Gauge& U, int64_t site, int a, int b) {
  return path(U, site, {a, b, reversed(a), reversed(b)});
}

ColorMatrix<double> staple_sum(const Gauge& U, int64_t site, int mu) {
  ColorMatrix<double> sum = zero_matrix<double>();
  for (int nu = 0; nu < Nd; ++nu) {
    if (nu == mu) continue;
    for (const int step : {forward(nu), backward(nu)})
      sum = sum + path(U, site, {step, forward(mu), reversed(step)});
  }
  return sum;
}

ColorMatrix<double> traceless_antihermitian(const ColorMatrix<double>& A) {
  ColorMatrix<double> R = 0.5 * (A - dagger(A));
  const Complex<double> third = (1.0 / 3.0) * trace(R);
  for (int i = 0; i < Nc; ++i) R.e[i][i] = R.e[i][i] - third;
  return R;
}

ColorMatrix<double> exponential(const ColorMatrix<double>& A) {
  double size2 = 0;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) size2 += norm2(A.e[i][j]);
  int halvings = 0;
  double size = std::sqrt(size2);
  for (; size > 0.25; size /= 2) ++halvings;
  const ColorMatrix<double> X = std::ldexp(1.0, -halvings) * A;
  ColorMatrix<double> sum = identity_matrix<double>();
  // This is Horner's scheme.
  for (int n = 14; n >= 1; --n) sum = identity_matrix<double>() + (1.0 / n) * (X * sum);
  for (int i = 0; i < halvings; ++i) sum = sum * sum;
  return sum;
}

Complex<double> determinant(const ColorMatrix<double>& A) {
  Complex<double> sum{0, 0};
  for (int j = 0; j < Nc; ++j) {
    const int k = (j + 1) % Nc, l = (j + 2) % Nc;
    sum = sum + A.e[0][j] * (A.e[1][k] * A.e[2][l] - A.e[1][l] * A.e[2][k]);
  }
  return sum;
}

Gauge gauge_transformed(const Gauge& U, const std::vector<ColorMatrix<double>>& g) {
  TRELLIS_REQUIRE(int64_t(g.size()) == U.volume(), "gauge transformation has ", g.size(), " matrices for ",
                  U.volume(), " sites");
  Gauge V = U;
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu) {
      const int64_t y = neighbour(x, forward(mu), U.extents);
      V.link(x, mu) = mul_dagger(g[size_t(x)] * U.link(x, mu), g[size_t(y)]);
    }
  return V;
}

}  // namespace trellis::reference
