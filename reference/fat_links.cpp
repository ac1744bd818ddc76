#include "reference/fat_links.hpp"

#include <cmath>

namespace trellis::reference {

namespace {
/// Goes along the sides, then forward(mu), then along the sides backwards.
ColorMatrix<double> around(const Gauge& U, int64_t x, int mu, const std::vector<int>& sides) {
  std::vector<int> steps = sides;
  steps.push_back(forward(mu));
  for (auto side = sides.rbegin(); side != sides.rend(); ++side) steps.push_back(reversed(*side));
  return path(U, x, steps);
}

ColorMatrix<double> fat_link(const Gauge& U, int64_t x, int mu, const FatWeights& w) {
  ColorMatrix<double> sum = w.one * U.link(x, mu);
  for (int s = 0; s < 2 * Nd; ++s) {
    if (direction(s) == mu) continue;
    sum = sum + w.three * around(U, x, mu, {s}) + w.lepage * around(U, x, mu, {s, s});
    for (int r = 0; r < 2 * Nd; ++r) {
      if (direction(r) == mu || direction(r) == direction(s)) continue;
      sum = sum + w.five * around(U, x, mu, {s, r});
      for (int q = 0; q < 2 * Nd; ++q)
        if (direction(q) != mu && direction(q) != direction(s) && direction(q) != direction(r))
          sum = sum + w.seven * around(U, x, mu, {s, r, q});
    }
  }
  return sum;
}

/// Returns the inverse by cofactors, daggered.
ColorMatrix<double> inverse_dagger(const ColorMatrix<double>& A) {
  const Complex<double> d = determinant(A);
  const double n = norm2(d);
  const Complex<double> inverse{d.re / n, -d.im / n};
  ColorMatrix<double> r;
  for (int i = 0; i < Nc; ++i)
    for (int j = 0; j < Nc; ++j) {
      const int a = (i + 1) % Nc, b = (i + 2) % Nc, c = (j + 1) % Nc, e = (j + 2) % Nc;
      r.e[i][j] = conj(inverse * (A.e[a][c] * A.e[b][e] - A.e[a][e] * A.e[b][c]));
    }
  return r;
}
}  // namespace

Gauge fat_links(const Gauge& U, const FatWeights& weights) {
  Gauge out = U;
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu) out.link(x, mu) = fat_link(U, x, mu, weights);
  return out;
}

Gauge long_links(const Gauge& U) {
  Gauge out = U;
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu) out.link(x, mu) = path(U, x, {forward(mu), forward(mu), forward(mu)});
  return out;
}

Gauge projected_to_u3(const Gauge& V) {
  Gauge out = V;
  for (auto& W : out.links)
    for (int step = 0; step < 60; ++step) W = 0.5 * (W + inverse_dagger(W));
  return out;
}

}  // namespace trellis::reference
