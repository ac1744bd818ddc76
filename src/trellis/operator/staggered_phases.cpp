#include "trellis/operator/staggered_phases.hpp"

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <unordered_map>
#include <vector>

#include "trellis/algebra/lane_math.hpp"
#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr int plane_a[flux_planes] = {0, 0, 0, 1, 1, 2}, plane_b[flux_planes] = {1, 2, 3, 2, 3, 3};

/// Returns n / d modulo 1, reduced in integers; n may be negative.
double fraction(int64_t n, int64_t d) { return double(((n % d) + d) % d) / double(d); }

/// Returns arg z / 2 pi, which is exact for the powers of i.
double turns_of(std::complex<double> z) {
  TRELLIS_REQUIRE(std::abs(std::abs(z) - 1.0) < 1e-12,
                  "a boundary phase of staggered fermions has modulus 1, ", "found ", z.real(), " + ",
                  z.imag(), " i");
  if (z.imag() == 0.0) return z.real() > 0 ? 0.0 : 0.5;
  if (z.real() == 0.0) return z.imag() > 0 ? 0.25 : 0.75;
  return std::atan2(z.imag(), z.real()) / (2.0 * std::numbers::pi);
}

/// Returns eta_mu = (-1)^(sum of the coordinates before mu) in turns.
double staggered_sign_turns(const Coord& x, int mu) {
  int sum = 0;
  for (int nu = 0; nu < mu; ++nu) sum += x[nu];
  return sum % 2 == 0 ? 0.0 : 0.5;
}

/// Returns what the flux adds, in turns: theta_b(x) += 2 pi k x_a / (L_a L_b); theta_a(x) -= 2 pi k x_b / L_b
/// where x_a = L_a - 1.
double flux_turns(int k, int plane, const Coord& L, const Coord& x, int mu) {
  const int a = plane_a[plane], b = plane_b[plane];
  if (mu == b) return fraction(int64_t(k) * x[a], int64_t(L[a]) * L[b]);
  if (mu == a && x[a] == L[a] - 1) return fraction(-int64_t(k) * x[b], L[b]);
  return 0.0;
}
}  // namespace

Flux flux_of(int charge_thirds, const std::array<int, 3>& b, const std::array<int, 3>& e) {
  const int q = charge_thirds;
  return {q * b[2], -q * b[1], q * e[0], q * b[0], q * e[1], q * e[2]};
}

double staggered_turns(const StaggeredPhases& phases, const Coord& L, const Coord& x, int mu) {
  double turns = staggered_sign_turns(x, mu);
  if (x[mu] == L[mu] - 1) turns += turns_of(phases.boundary[size_t(mu)]);
  if (mu == 3) turns += phases.mu_over_ipiT / (2.0 * L[3]);
  for (int plane = 0; plane < flux_planes; ++plane)
    if (phases.flux[size_t(plane)] != 0) turns += flux_turns(phases.flux[size_t(plane)], plane, L, x, mu);
  return turns - std::floor(turns);
}

double flux_weight(int plane, const Coord& L, const Coord& x, int mu) {
  TRELLIS_REQUIRE(plane >= 0 && plane < flux_planes, "flux plane ", plane, " is not in 0..5");
  const int a = plane_a[plane], b = plane_b[plane];
  if (mu == b) return 2.0 * std::numbers::pi * x[a] / (double(L[a]) * L[b]);
  if (mu == a && x[a] == L[a] - 1) return -2.0 * std::numbers::pi * x[b] / L[b];
  return 0.0;
}

HopFactors dirac_factors(const StaggeredPhases& phases, const Coord& L, int distance, double coefficient) {
  const auto u = [phases, L, distance, coefficient](const Coord& x, int mu) {
    double turns = 0;
    Coord y = x;
    for (int step = 0; step < distance; ++step) {
      turns += staggered_turns(phases, L, y, mu);
      y[mu] = (y[mu] + 1) % L[mu];
    }
    const SinCos<double> phase = sin_cos_2pi(turns - std::floor(turns));
    return std::complex<double>(coefficient * phase.cos, coefficient * phase.sin);
  };
  return {u, [u](const Coord& y, int mu) { return -std::conj(u(y, mu)); }};
}

namespace {
/// It holds the rows that were met, by their bytes.
class RowSet {
 public:
  explicit RowSet(int reals) : reals_{reals} {}
  int32_t number_of(const std::vector<double>& row) {
    const std::string key(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(double));
    const auto [at, is_new] = numbers_.try_emplace(key, int32_t(values_.size() / size_t(reals_)));
    if (is_new) values_.insert(values_.end(), row.begin(), row.end());
    return at->second;
  }
  const std::vector<double>& values() const { return values_; }

 private:
  int reals_;
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<double> values_;
};

/// Fills memory of a backend with values rounded to Scalar.
template <class Scalar>
Memory stored(const std::vector<double>& values, Backend backend) {
  std::vector<Scalar> rounded(values.begin(), values.end());
  Memory memory(rounded.size() * sizeof(Scalar), backend);
  memory.copy_from_host(rounded.data(), rounded.size() * sizeof(Scalar));
  return memory;
}
}  // namespace

PhaseTable::PhaseTable(const HopStencil& stencil, const HopFactors& factors, Precision precision,
                       Backend backend) {
  const SiteLayout& layout = stencil.layout();
  const Geometry& geometry = layout.geometry();
  const Coord& L = geometry.lattice();
  const int W = layout.lanes(), d = stencil.distance();
  RowSet set(2 * W);
  std::vector<double> row(size_t(2 * W));
  for (int parity = 0; parity < 2; ++parity) {
    std::vector<int32_t> index(size_t(layout.blocks()) * legs);
    for (int block = 0; block < layout.blocks(); ++block)
      for (int leg = 0; leg < legs; ++leg) {
        const int mu = leg / 2;
        for (int lane = 0; lane < W; ++lane) {
          Coord x = geometry.to_global(layout.coord({parity, block, lane}));
          if (leg % 2 == 1) x[mu] = ((x[mu] - d) % L[mu] + L[mu]) % L[mu];
          const std::complex<double> f = leg % 2 == 0 ? factors.forward(x, mu) : factors.backward(x, mu);
          row[size_t(lane)] = f.real() + 0.0;  // there is no -0: rows compare by bytes
          row[size_t(W + lane)] = f.imag() + 0.0;
        }
        index[size_t(block) * legs + size_t(leg)] = set.number_of(row);
      }
    index_[parity] = Memory(index.size() * sizeof(int32_t), backend);
    index_[parity].copy_from_host(index.data(), index.size() * sizeof(int32_t));
  }
  rows_ = int(set.values().size()) / (2 * W);
  memory_ = precision == Precision::double_precision ? stored<double>(set.values(), backend)
                                                     : stored<float>(set.values(), backend);
}

RawPhases PhaseTable::raw(int parity) const {
  return {static_cast<const int32_t*>(index_[parity].data()), memory_.data()};
}

}  // namespace trellis
