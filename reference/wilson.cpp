#include "reference/wilson.hpp"

#include <algorithm>
#include <cmath>

#include "reference/field_strength.hpp"
#include "trellis/base/error.hpp"

namespace trellis::reference {

namespace {
double hop_coefficient(const WilsonParameters& p, int mu) { return mu < 3 ? p.nu / p.xi0 : 1.0; }
double plane_coefficient(const WilsonParameters& p, int nu) { return nu < 3 ? p.c_r / p.xi0 : p.c_t; }
}  // namespace

WilsonParameters wilson_clover(double mass, double csw, const BoundaryPhases& boundary) {
  WilsonParameters p;
  p.mass = mass;
  p.c_r = p.c_t = csw;
  p.boundary = boundary;
  return p;
}

SpinorVector wilson_hop(const Gauge& U, const WilsonParameters& p, const SpinorVector& psi, bool is_dagger) {
  TRELLIS_REQUIRE(int64_t(psi.size()) == U.volume(), "spinor vector has ", psi.size(), " sites, the links ",
                  U.volume());
  const Complex<double> sign{is_dagger ? -1.0 : 1.0, 0.0};
  SpinorVector out = zero_spinors(U.volume());
  for (int64_t x = 0; x < U.volume(); ++x) {
    const Coord at = site_coord(x, U.extents);
    for (int mu = 0; mu < Nd; ++mu) {
      const GammaMatrix gamma = gamma_mu(mu);
      const std::complex<double> a = hop_coefficient(p, mu), z = p.boundary[size_t(mu)];

      const int64_t ahead = neighbour(x, forward(mu), U.extents);
      const Spinor<double> from_ahead = U.link(x, mu) * psi[size_t(ahead)];
      const std::complex<double> z_ahead = at[mu] == U.extents[mu] - 1 ? z : 1.0;
      out[size_t(x)] = out[size_t(x)] + to_complex(a * z_ahead) * (from_ahead - sign * (gamma * from_ahead));

      const int64_t behind = neighbour(x, backward(mu), U.extents);
      const Spinor<double> from_behind = dagger(U.link(behind, mu)) * psi[size_t(behind)];
      const std::complex<double> z_behind = at[mu] == 0 ? std::conj(z) : 1.0;
      out[size_t(x)] =
          out[size_t(x)] + to_complex(a * z_behind) * (from_behind + sign * (gamma * from_behind));
    }
  }
  return out;
}

std::vector<ChiralBlocks> clover_blocks(const Gauge& U, const WilsonParameters& p) {
  std::vector<ChiralBlocks> clover(size_t(U.volume()), ChiralBlocks{});
  if (p.c_r == 0 && p.c_t == 0) return clover;
  for (int64_t x = 0; x < U.volume(); ++x)
    for (int mu = 0; mu < Nd; ++mu)
      for (int nu = mu + 1; nu < Nd; ++nu) {
        const ColorMatrix<double> F = clover_field_strength(U, x, mu, nu);
        const GammaMatrix sigma = i1 * (gamma_mu(mu) * gamma_mu(nu));  // it is (i/2) [gamma_mu, gamma_nu]
        for (int row = 0; row < Ns; ++row) {
          const int column = sigma.column[row];  // sigma commutes with gamma5: the chirality is the same
          const std::complex<double> factor = plane_coefficient(p, nu) * 0.5 * i1 * sigma.phase[row];
          for (int a = 0; a < Nc; ++a)
            for (int b = 0; b < Nc; ++b)
              clover[size_t(x)][size_t(row / 2)][size_t(3 * (row % 2) + a)][size_t(3 * (column % 2) + b)] +=
                  factor * to_std(F.e[a][b]);
        }
      }
  return clover;
}

Spinor<double> multiply(const ChiralBlocks& blocks, const Spinor<double>& psi) {
  Spinor<double> out;
  for (int row = 0; row < 12; ++row) {
    std::complex<double> sum = 0;
    for (int column = 0; column < 6; ++column) {
      const int spin = 2 * (row / 6) + column / 3;
      sum += blocks[size_t(row / 6)][size_t(row % 6)][size_t(column)] * to_std(psi.s[spin].c[column % 3]);
    }
    out.s[row / 3].c[row % 3] = to_complex(sum);
  }
  return out;
}

namespace {
ChiralBlock inverse(ChiralBlock A) {
  ChiralBlock B{};
  for (size_t i = 0; i < 6; ++i) B[i][i] = 1.0;
  for (size_t k = 0; k < 6; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < 6; ++i)
      if (std::abs(A[i][k]) > std::abs(A[pivot][k])) pivot = i;
    if (std::abs(A[pivot][k]) == 0) throw NumericError("the diagonal block of a site is singular");
    std::swap(A[k], A[pivot]);
    std::swap(B[k], B[pivot]);
    const std::complex<double> scale = 1.0 / A[k][k];
    for (size_t j = 0; j < 6; ++j) {
      A[k][j] *= scale;
      B[k][j] *= scale;
    }
    for (size_t i = 0; i < 6; ++i) {
      if (i == k) continue;
      const std::complex<double> factor = A[i][k];
      for (size_t j = 0; j < 6; ++j) {
        A[i][j] -= factor * A[k][j];
        B[i][j] -= factor * B[k][j];
      }
    }
  }
  return B;
}
}  // namespace

ChiralBlocks inverse(const ChiralBlocks& blocks) { return {inverse(blocks[0]), inverse(blocks[1])}; }

WilsonOperator::WilsonOperator(const Gauge& links, const WilsonParameters& parameters)
    : links_{links}, parameters_{parameters}, clover_{clover_blocks(links, parameters)} {}

SpinorVector WilsonOperator::hop(const SpinorVector& psi, bool is_dagger) const {
  return wilson_hop(links_, parameters_, psi, is_dagger);
}

ChiralBlocks WilsonOperator::diagonal_blocks(int64_t site, bool is_dagger) const {
  ChiralBlocks blocks = clover_[size_t(site)];
  const double twist = is_dagger ? -parameters_.twisted_mass : parameters_.twisted_mass;
  const std::complex<double> mass = parameters_.mass + 1 + 3 * parameters_.nu / parameters_.xi0;
  for (size_t i = 0; i < 6; ++i) {
    blocks[0][i][i] += mass + i1 * twist;
    blocks[1][i][i] += mass - i1 * twist;
  }
  return blocks;
}

SpinorVector WilsonOperator::diagonal(const SpinorVector& psi, bool is_dagger) const {
  SpinorVector out = psi;
  for (size_t x = 0; x < psi.size(); ++x) out[x] = multiply(diagonal_blocks(int64_t(x), is_dagger), psi[x]);
  return out;
}

SpinorVector WilsonOperator::diagonal_inverse(const SpinorVector& psi, bool is_dagger) const {
  SpinorVector out = psi;
  for (size_t x = 0; x < psi.size(); ++x)
    out[x] = multiply(reference::inverse(diagonal_blocks(int64_t(x), is_dagger)), psi[x]);
  return out;
}

SpinorVector WilsonOperator::apply(const SpinorVector& psi) const {
  SpinorVector out = diagonal(psi);
  add_scaled(out, -0.5, hop(psi));
  return out;
}

SpinorVector WilsonOperator::apply_dagger(const SpinorVector& psi) const {
  SpinorVector out = diagonal(psi, true);
  add_scaled(out, -0.5, hop(psi, true));
  return out;
}

}  // namespace trellis::reference
