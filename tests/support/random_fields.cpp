#include "tests/support/random_fields.hpp"

#include <cmath>

namespace trellis::test {

uint32_t hash(uint64_t n) {
  uint64_t h = (n * 2654435761u + 12345) & 0xffffffffu;
  h ^= h >> 16;
  h = (h * 2246822519u) & 0xffffffffu;
  h ^= h >> 13;
  return uint32_t(h);
}

namespace {
/// Returns sum_a xi_a (i/2) lambda_a with the Gell-Mann matrices lambda_1..lambda_8.
ColorMatrix<double> algebra_element(const double (&xi)[8]) {
  const double r = 1 / std::sqrt(3.0);
  const Complex<double> H[3][3] = {
      {{xi[2] + r * xi[7], 0}, {xi[0], -xi[1]}, {xi[3], -xi[4]}},
      {{xi[0], xi[1]}, {-xi[2] + r * xi[7], 0}, {xi[5], -xi[6]}},
      {{xi[3], xi[4]}, {xi[5], xi[6]}, {-2 * r * xi[7], 0}},
  };
  ColorMatrix<double> X;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) X.e[i][j] = {-0.5 * H[i][j].im, 0.5 * H[i][j].re};
  return X;
}
}  // namespace

std::vector<ColorMatrix<double>> hash_direction(const Coord& extents) {
  std::vector<ColorMatrix<double>> X(size_t(4 * product(extents)));
  for (size_t link = 0; link < X.size(); ++link) {
    double xi[8];
    for (size_t a = 0; a < 8; ++a) xi[a] = hash_uniform(8 * link + a) - 0.5;
    X[link] = algebra_element(xi);
  }
  return X;
}

uint64_t Random::bits() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;  // this is splitmix64 (Steele, Lea, Flood 2014)
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

ColorMatrix<double> random_su3(Random& random, double size) {
  double xi[8];
  for (double& x : xi) x = size * random.symmetric();
  return reference::exponential(algebra_element(xi));
}

ColorMatrix<double> random_matrix(Random& random) {
  ColorMatrix<double> A;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) A.e[i][j] = random.complex();
  return A;
}

reference::Gauge random_gauge(const Coord& extents, uint64_t seed, double size) {
  Random random(seed);
  reference::Gauge U = reference::unit_gauge(extents);
  for (auto& link : U.links) link = random_su3(random, size);
  return U;
}

std::vector<ColorMatrix<double>> random_transformation(const Coord& extents, uint64_t seed) {
  Random random(seed);
  std::vector<ColorMatrix<double>> g(size_t(product(extents)));
  for (auto& matrix : g) matrix = random_su3(random);
  return g;
}

Spinor<double> random_spinor(Random& random) {
  Spinor<double> psi;
  for (int s = 0; s < Ns; ++s)
    for (int c = 0; c < Nc; ++c) psi.s[s].c[c] = random.complex();
  return psi;
}

reference::SpinorVector random_spinors(const Coord& extents, uint64_t seed) {
  Random random(seed);
  reference::SpinorVector psi = reference::zero_spinors(product(extents));
  for (auto& site : psi) site = random_spinor(random);
  return psi;
}

}  // namespace trellis::test
