#include "reference/spin_glass.hpp"

#include <cmath>

namespace trellis::reference {

namespace {
int64_t stepped(const SpinGlass& glass, int64_t site, int mu, int step) {
  Coord x = site_coord(site, glass.extents);
  const int L = glass.extents[mu];
  x[mu] = (x[mu] + step + L) % L;
  return site_index(x, glass.extents);
}

double dot(const Spin& a, const Spin& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Spin cross(const Spin& a, const Spin& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Calls f(site) for the sites of a parity.
template <class F>
void for_each_site_of(const SpinGlass& glass, int parity, const F& f) {
  for (int64_t site = 0; site < product(glass.extents); ++site)
    if (site_parity(site_coord(site, glass.extents)) == parity) f(site);
}
template <class F>
void for_each_site_of_sample(const SpinGlass& glass, int sample, const F& f) {
  const int64_t sites = product(glass.extents) / glass.extents[3];
  for (int64_t site = sample * sites; site < (sample + 1) * sites; ++site) f(site);
}

/// Draws the cosine of the angle to h, whose density is exp(k c) on [-1, 1]: c = 1 + log(r + (1 - r) exp(-2
/// k)) / k, or its series for a small k.
double draw_cosine(double k, double r) {
  if (k < 1e-5) return 2 * r - 1 + 2 * k * r * (1 - r);
  return std::min(1.0, std::max(-1.0, 1 + std::log(r + (1 - r) * std::exp(-2 * k)) / k));
}

double sign_of(const Spin& a) {
  for (int i = 2; i > 0; --i)
    if (a[size_t(i)] != 0) return a[size_t(i)] > 0 ? 1 : -1;
  return a[0] < 0 ? -1 : 1;
}

/// Returns two unit vectors across a, which both change sign with a, after T. Duff et al. (2017), Building an
/// orthonormal basis, revisited.
std::array<Spin, 2> across(const Spin& a) {
  const double sign = sign_of(a), f = -1 / (sign + a[2]), b = a[0] * a[1] * f;
  return {Spin{sign + a[0] * a[0] * f, b, -a[0]}, Spin{b, sign + a[1] * a[1] * f, -a[1]}};
}
}  // namespace

Spin local_field(const SpinGlass& glass, int64_t site) {
  Spin h{0, 0, 0};
  for (int mu = 0; mu < 3; ++mu) {
    if (glass.extents[mu] == 1) continue;
    const int64_t up = stepped(glass, site, mu, 1), down = stepped(glass, site, mu, -1);
    const double J_up = glass.couplings[size_t(site)][size_t(mu)],
                 J_down = glass.couplings[size_t(down)][size_t(mu)];
    for (size_t i = 0; i < 3; ++i)
      h[i] += J_up * glass.spins[size_t(up)][i] + J_down * glass.spins[size_t(down)][i];
  }
  return h;
}

double energy(const SpinGlass& glass, int sample) { return bond_sums(glass, glass, sample).energy; }

void over_relax(SpinGlass& glass) {
  for (int parity = 0; parity < 2; ++parity)
    for_each_site_of(glass, parity, [&](int64_t site) {
      Spin& S = glass.spins[size_t(site)];
      const Spin h = local_field(glass, site);
      if (dot(h, h) == 0) return;
      const double c = 2 * dot(S, h) / dot(h, h);
      for (size_t i = 0; i < 3; ++i) S[i] = c * h[i] - S[i];
    });
}

void heat_bath(SpinGlass& glass, double beta, RandomKey key, uint32_t sweep, uint32_t draw) {
  for (int parity = 0; parity < 2; ++parity)
    for_each_site_of(glass, parity, [&](int64_t site) {
      Spin& S = glass.spins[size_t(site)];
      const Spin h = local_field(glass, site);
      const SiteRandom<double> random(key, RandomPurpose::spin_heatbath, sweep, uint64_t(site));
      const std::array<double, 2> u = random.uniform_pair(draw);
      const double length = std::sqrt(dot(h, h)), norm = std::sqrt(dot(S, S));
      Spin axis;
      for (size_t i = 0; i < 3; ++i) axis[i] = length > 0 ? h[i] / length : S[i] / norm;
      const double c = draw_cosine(beta * length, u[0]), s = std::sqrt(std::max(0.0, 1 - c * c));
      const double angle = 2 * M_PI * u[1];
      const std::array<Spin, 2> plane = across(axis);
      for (size_t i = 0; i < 3; ++i)
        S[i] = c * axis[i] + s * (std::cos(angle) * plane[0][i] + std::sin(angle) * plane[1][i]);
    });
}

BondSums bond_sums(const SpinGlass& glass, const SpinGlass& other, int sample) {
  BondSums sums;
  for_each_site_of_sample(glass, sample, [&](int64_t site) {
    for (int mu = 0; mu < 3; ++mu) {
      if (glass.extents[mu] == 1) continue;
      const int64_t up = stepped(glass, site, mu, 1);
      const double here = dot(glass.spins[size_t(site)], glass.spins[size_t(up)]),
                   there = dot(other.spins[size_t(site)], other.spins[size_t(up)]);
      sums.energy -= glass.couplings[size_t(site)][size_t(mu)] * here;
      sums.square += here * here;
      sums.product += here * there;
    }
  });
  return sums;
}

std::array<double, 2> overlap(const SpinGlass& glass, const SpinGlass& other, int a, int b, int mu,
                              int sample) {
  std::array<double, 2> sum{0, 0};
  for_each_site_of_sample(glass, sample, [&](int64_t site) {
    const double product = glass.spins[size_t(site)][size_t(a)] * other.spins[size_t(site)][size_t(b)];
    const double phase =
        mu < 0 ? 0 : 2 * M_PI * site_coord(site, glass.extents)[mu] / double(glass.extents[mu]);
    sum[0] += product * std::cos(phase);
    sum[1] += product * std::sin(phase);
  });
  return sum;
}

double chirality(const SpinGlass& glass, int64_t site, int mu) {
  const Spin& S = glass.spins[size_t(site)];
  const Spin &up = glass.spins[size_t(stepped(glass, site, mu, 1))],
             &down = glass.spins[size_t(stepped(glass, site, mu, -1))];
  return dot(up, cross(S, down));
}

}  // namespace trellis::reference
