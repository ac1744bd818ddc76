#pragma once
/// Random numbers, links and spinors of tests are the same in every run; the hash of gold.md is here, too.
#include <complex>
#include <cstdint>
#include <vector>

#include "reference/gauge.hpp"
#include "reference/spinor_vector.hpp"

namespace trellis::test {

/// Returns the hash of gold.md: h(n) in 32 bits and u(n) = h(n) / 2^32.
uint32_t hash(uint64_t n);
inline double hash_uniform(uint64_t n) { return hash(n) / 4294967296.0; }
/// Returns X_mu(x) = sum_a (u(8 (4 site + mu) + a) - 1/2) T_a with T_a = (i/2) lambda_a, as [4 site + mu].
std::vector<ColorMatrix<double>> hash_direction(const Coord& extents);

/// This small generator is counter-based: equal seeds give equal sequences on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_{seed * 0x9e3779b97f4a7c15u + 1} {}
  uint64_t bits();
  double uniform() { return double(bits() >> 11) * 0x1p-53; }  ///< it lies in [0, 1)
  double symmetric() { return 2 * uniform() - 1; }             ///< it lies in [-1, 1)
  int below(int n) { return int(uniform() * n); }              ///< it lies in 0..n-1
  Complex<double> complex() {
    const double re = symmetric();
    return {re, symmetric()};
  }

 private:
  uint64_t state_;
};

/// Returns exp(size X) with X a random traceless anti-hermitian matrix of order 1; size 2 and above is well
/// mixed.
ColorMatrix<double> random_su3(Random& random, double size = 3.0);
ColorMatrix<double> random_matrix(Random& random);
reference::Gauge random_gauge(const Coord& extents, uint64_t seed, double size = 3.0);
std::vector<ColorMatrix<double>> random_transformation(const Coord& extents, uint64_t seed);
Spinor<double> random_spinor(Random& random);
reference::SpinorVector random_spinors(const Coord& extents, uint64_t seed);

}  // namespace trellis::test
