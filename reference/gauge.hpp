#pragma once
/// Reference code is the slow scalar version of what the kernels compute. It has plain vectors over the whole
/// lattice, lexicographic sites (x fastest), one process and double precision. It shares algebra/ and
/// lattice/ with the product and nothing else, and it is never optimised: clarity comes first.
#include <vector>

#include "trellis/algebra/color.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::reference {

/// It is a gauge configuration.
struct Gauge {
  Coord extents;
  std::vector<ColorMatrix<double>> links;  ///< the index is [4 site + mu]

  int64_t volume() const { return product(extents); }
  const ColorMatrix<double>& link(int64_t site, int mu) const { return links[size_t(4 * site + mu)]; }
  ColorMatrix<double>& link(int64_t site, int mu) { return links[size_t(4 * site + mu)]; }
};

Gauge unit_gauge(const Coord& extents);

/// Returns a step to a neighbour, 0..7: forward(mu) leads to x+mu, backward(mu) to x-mu.
inline constexpr int forward(int mu) { return 2 * mu; }
inline constexpr int backward(int mu) { return 2 * mu + 1; }
inline constexpr int reversed(int step) { return step ^ 1; }
inline constexpr int direction(int step) { return step / 2; }

/// Returns the neighbour of a site on the periodic lattice.
int64_t neighbour(int64_t site, int step, const Coord& extents);

/// Returns the ordered product of the links met on a walk from `site`; a backward step contributes
/// U_mu(x-mu)^dagger.
ColorMatrix<double> path(const Gauge& U, int64_t site, const std::vector<int>& steps);

/// Returns the 1x1 loop from x along the steps a and b (any two different directions).
ColorMatrix<double> plaquette_loop(const Gauge& U, int64_t site, int a, int b);

/// Returns the sum over nu != mu of the two walks x -> x+mu of three steps, forward and backward in nu.
ColorMatrix<double> staple_sum(const Gauge& U, int64_t site, int mu);

/// Returns (A - A^dagger) / 2 without its trace.
ColorMatrix<double> traceless_antihermitian(const ColorMatrix<double>& A);

/// Returns exp(A) by scaling and squaring of the Taylor series, to rounding.
ColorMatrix<double> exponential(const ColorMatrix<double>& A);

Complex<double> determinant(const ColorMatrix<double>& A);

/// Transforms U_mu(x) -> g(x) U_mu(x) g(x+mu)^dagger; g has one matrix a site.
Gauge gauge_transformed(const Gauge& U, const std::vector<ColorMatrix<double>>& g);

}  // namespace trellis::reference
