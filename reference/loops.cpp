#include "reference/loops.hpp"

#include <algorithm>
#include <cmath>

namespace trellis::reference {

namespace {
/// Returns the 2x1 loop that is long in mu.
ColorMatrix<double> rectangle_loop(const Gauge& U, int64_t site, int mu, int nu) {
  return path(U, site, {forward(mu), forward(mu), forward(nu), backward(mu), backward(mu), backward(nu)});
}

/// Returns the sum of Re tr P_munu / 3 over sites.
double plaquette_sum(const Gauge& U, int mu, int nu) {
  double sum = 0;
  for (int64_t x = 0; x < U.volume(); ++x)
    sum += trace(plaquette_loop(U, x, forward(mu), forward(nu))).re / 3;
  return sum;
}

double rectangle_sum(const Gauge& U, int mu, int nu) {
  double sum = 0;
  for (int64_t x = 0; x < U.volume(); ++x) sum += trace(rectangle_loop(U, x, mu, nu)).re / 3;
  return sum;
}
}  // namespace

PlaquetteMeans plaquette(const Gauge& U) {
  double spatial = 0, temporal = 0;
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = mu + 1; nu < Nd; ++nu) (nu < 3 ? spatial : temporal) += plaquette_sum(U, mu, nu);
  const double volume = double(U.volume());
  return {(spatial + temporal) / (6 * volume), spatial / (3 * volume), temporal / (3 * volume)};
}

double rectangle(const Gauge& U) {
  double sum = 0;
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = 0; nu < Nd; ++nu)
      if (nu != mu) sum += rectangle_sum(U, mu, nu);
  return sum / (12 * double(U.volume()));
}

double wilson_loop(const Gauge& U, int mu, int R, int nu, int T) {
  std::vector<int> steps;
  steps.insert(steps.end(), size_t(R), forward(mu));
  steps.insert(steps.end(), size_t(T), forward(nu));
  steps.insert(steps.end(), size_t(R), backward(mu));
  steps.insert(steps.end(), size_t(T), backward(nu));
  double sum = 0;
  for (int64_t x = 0; x < U.volume(); ++x) sum += trace(path(U, x, steps)).re / 3;
  return sum / double(U.volume());
}

double link_trace(const Gauge& U) {
  double sum = 0;
  for (const auto& link : U.links) sum += trace(link).re / 3;
  return sum / double(U.links.size());
}

std::complex<double> polyakov_loop(const Gauge& U, int mu) {
  const std::vector<int> around(size_t(U.extents[mu]), forward(mu));
  std::complex<double> sum = 0;
  for (int64_t x = 0; x < U.volume(); ++x) {
    if (site_coord(x, U.extents)[mu] != 0) continue;
    const Complex<double> loop = trace(path(U, x, around));
    sum += std::complex<double>(loop.re, loop.im) / 3.0;
  }
  return sum / double(U.volume() / U.extents[mu]);
}

double unitarity_violation(const Gauge& U) {
  double worst = 0;
  for (const auto& link : U.links) {
    const ColorMatrix<double> D = mul_dagger(link, link) - identity_matrix<double>();
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) worst = std::max(worst, std::hypot(D.e[i][j].re, D.e[i][j].im));
    const Complex<double> det = determinant(link);
    worst = std::max(worst, std::hypot(det.re - 1, det.im));
  }
  return worst;
}

double gauge_action(const Gauge& U, double beta, double c1) {
  const double c0 = 1 - 8 * c1, volume = double(U.volume());
  double sum = 0;
  for (int mu = 0; mu < Nd; ++mu)
    for (int nu = 0; nu < Nd; ++nu) {
      if (mu < nu) sum += c0 * (volume - plaquette_sum(U, mu, nu));
      if (mu != nu && c1 != 0) sum += c1 * (volume - rectangle_sum(U, mu, nu));
    }
  return beta * sum;
}

std::vector<ColorMatrix<double>> gauge_force(const Gauge& U, double beta, double c1) {
  const double c0 = 1 - 8 * c1;
  std::vector<ColorMatrix<double>> force(U.links.size());
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu) {
      ColorMatrix<double> plaquettes = zero_matrix<double>(), rectangles = zero_matrix<double>();
      const int m = forward(mu), back = backward(mu);
      for (int n = 0; n < 2 * Nd; ++n) {  // n is a step in another direction, either way
        if (direction(n) == mu) continue;
        const int r = reversed(n);
        plaquettes = plaquettes + path(U, x, {m, n, back, r});
        rectangles = rectangles + path(U, x, {m, m, n, back, back, r})  // mu is long, U_mu(x) comes first
                     + path(U, x, {m, n, back, back, r, m})             // mu is long, U_mu(x) comes last
                     + path(U, x, {m, n, n, back, r, r});               // the other direction is long
      }
      force[size_t(4 * x + mu)] = (beta / 6) * traceless_antihermitian(c0 * plaquettes + c1 * rectangles);
    }
  return force;
}

}  // namespace trellis::reference
