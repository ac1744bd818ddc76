#include "reference/smearing.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

namespace {
/// Returns the sum of the two three-step walks x -> x+mu through x+nu and x-nu.
ColorMatrix<double> staples_in_plane(const Gauge& U, int64_t x, int mu, int nu) {
  return path(U, x, {forward(nu), forward(mu), backward(nu)}) +
         path(U, x, {backward(nu), forward(mu), forward(nu)});
}
}  // namespace

StoutWeights isotropic_stout(double rho) {
  StoutWeights weights{};
  for (size_t mu = 0; mu < Nd; ++mu)
    for (size_t nu = 0; nu < Nd; ++nu) weights[mu][nu] = mu == nu ? 0.0 : rho;
  return weights;
}

StoutWeights spatial_stout(double rho) {
  StoutWeights weights = isotropic_stout(rho);
  for (size_t mu = 0; mu < Nd; ++mu) weights[mu][3] = weights[3][mu] = 0.0;
  return weights;
}

Gauge stout_smeared(const Gauge& U, const StoutWeights& rho, int levels) {
  Gauge old = U;
  for (int level = 0; level < levels; ++level) {
    Gauge smeared = old;
    for (int64_t x = 0; x < U.volume(); ++x)
      for (int mu = 0; mu < Nd; ++mu) {
        ColorMatrix<double> C = zero_matrix<double>();
        for (int nu = 0; nu < Nd; ++nu)
          if (nu != mu) C = C + rho[size_t(mu)][size_t(nu)] * staples_in_plane(old, x, mu, nu);
        const ColorMatrix<double> Omega = mul_dagger(C, old.link(x, mu));
        smeared.link(x, mu) = exponential(traceless_antihermitian(Omega)) * old.link(x, mu);
      }
    old = smeared;
  }
  return old;
}

Gauge ape_smeared(const Gauge& U, double alpha, int levels, bool is_spatial_only) {
  const int directions = is_spatial_only ? 3 : 4;
  const double weight = alpha / (2 * (directions - 1));
  Gauge old = U;
  for (int level = 0; level < levels; ++level) {
    Gauge smeared = old;
    for (int64_t x = 0; x < U.volume(); ++x)
      for (int mu = 0; mu < directions; ++mu) {
        ColorMatrix<double> V = (1 - alpha) * old.link(x, mu);
        for (int nu = 0; nu < directions; ++nu)
          if (nu != mu) V = V + weight * staples_in_plane(old, x, mu, nu);
        smeared.link(x, mu) = nearest_su3(V);
      }
    old = smeared;
  }
  return old;
}

/// Maximises the trace within rows k, l: the SU(2) matrix g that maximises Re tr(g W A^dagger) has the
/// quaternion of the 2x2 block of (W A^dagger)^dagger. It sweeps over the three subgroups until the trace no
/// longer grows.
ColorMatrix<double> nearest_su3(const ColorMatrix<double>& A) {
  ColorMatrix<double> W = identity_matrix<double>();
  for (int sweep = 0; sweep < 10000; ++sweep) {
    double change = 0;
    for (int k = 0; k < Nc; ++k) {
      const int i = k, j = (k + 1) % Nc;
      const ColorMatrix<double> B = mul_dagger(W, A);
      const double a0 = B.e[i][i].re + B.e[j][j].re, a3 = B.e[i][i].im - B.e[j][j].im;
      const double a1 = B.e[i][j].im + B.e[j][i].im, a2 = B.e[i][j].re - B.e[j][i].re;
      const double size = std::sqrt(a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3);
      if (size == 0) continue;
      const Complex<double> g_ii{a0 / size, -a3 / size}, g_ij{-a2 / size, -a1 / size};
      ColorMatrix<double> next = W;
      for (int c = 0; c < Nc; ++c) {
        next.e[i][c] = g_ii * W.e[i][c] + g_ij * W.e[j][c];
        next.e[j][c] = conj(g_ii) * W.e[j][c] - conj(g_ij) * W.e[i][c];
      }
      W = next;
      change = std::max(change, std::sqrt(a1 * a1 + a2 * a2 + a3 * a3) / size);
    }
    if (change < 1e-14) return W;
  }
  throw NumericError("nearest_su3: no convergence; is the matrix singular?");
}

}  // namespace trellis::reference
