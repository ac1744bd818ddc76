#pragma once
/// The chain rule of one stout level (C. Morningstar and M. Peardon, Phys. Rev. D69 (2004) 054501, eqs.
/// 69-75): from G' with delta S = sum Re tr(G' delta U') to G with delta S = sum Re tr(G delta U), U' =
/// exp(iQ) U, iQ = TA(C U^dagger).
///
/// First the part of each link alone, with M = U G' and B_i = sum_j b_ij Q^j:
///
///   X = TA(i Gamma),  Gamma = tr(B1 M) Q + tr(B2 M) Q^2 + f1 M + f2 (Q M + M Q),
///   G = G' exp(iQ) + C^dagger X,
///
/// then what the staples of the neighbours add, with Z = U^dagger X U and in each plane (mu, nu)
///
///   a = U_nu(x+mu), b = U_mu(x+nu), c = U_nu(x);   d = U_nu(x-nu+mu), e = U_mu(x-nu), g = U_nu(x-nu):
///
///   G -= { a b^dagger (rho_munu X_b + rho_numu Z_c) - rho_numu X_a a b^dagger } c^dagger
///      + d^dagger { e^dagger (rho_munu X_e - rho_numu X_g) + rho_numu X_d e^dagger } g.
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// Per site. Link part: staples, 8 products, series and sums. Neighbours: 8 products in each of 12 pairs.
inline constexpr KernelCost stout_chain_link_cost{4 * (staple_sum_flops + 8 * 198 + 22 * 30 + 300),
                                                  4 * 72 * 8};
inline constexpr KernelCost stout_chain_staples_cost{12 * (8 * 198 + 6 * 18 + 2 * 18), 5 * 72 * 8};

struct StoutChainCall {
  GaugeCall gauge;        ///< U
  RawField derivative;    ///< G' in, G out
  RawField X, Z;          ///< [block][mu][18][lane]; X with its halo in the second part
  double rho[4][4] = {};  ///< [mu][nu]; a row of zeros copies the link
};

template <class Layout, class Storage>
class StoutChainLink {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit StoutChainLink(const StoutChainCall& call)
      : call_{call},
        U_{call.gauge.links, call.gauge.tables},
        G_{call.derivative, call.gauge.tables},
        X_{call.X, call.gauge.tables},
        Z_{call.Z, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      bool is_smeared = false;
      auto C = zero_matrix<Real>();
      for (int nu = 0; nu < 4; ++nu) {
        if (nu == mu || call_.rho[mu][nu] == 0) continue;
        is_smeared = true;
        C = C + Real(call_.rho[mu][nu]) * plane_staples(U_, x, mu, nu);
      }
      if (is_smeared) {
        link_part(block, mu, U_.link(x, mu), G_.link(x, mu), C);
      } else {
        X_.store(block, mu, zero_matrix<Real>());
        Z_.store(block, mu, zero_matrix<Real>());
      }
    }
  }

 private:
  TRELLIS_SITE_FN void link_part(int block, int mu, const Matrix& U, const Matrix& G, const Matrix& C) const {
    const Matrix iQ = traceless_antihermitian(mul_dagger(C, U));
    Matrix Q;
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) Q.e[i][j] = {iQ.e[i][j].im, -iQ.e[i][j].re};
    const Matrix square = Q * Q, M = U * G;
    const Real c1 = Real(0.5) * ((square.e[0][0].re + square.e[1][1].re) + square.e[2][2].re);
    const ExponentialDerivatives<Real> k = exponential_derivatives(determinant(Q).re, c1);
    const Matrix QM = Q * M;
    const Complex<Real> t0 = trace(M), t1 = trace(QM), t2 = trace(square * M);
    const Complex<Real> s1 = k.by_c1[0] * t0 + k.by_c1[1] * t1 + k.by_c1[2] * t2;
    const Complex<Real> s2 = k.by_c0[0] * t0 + k.by_c0[1] * t1 + k.by_c0[2] * t2;
    const Matrix gamma = s1 * Q + s2 * square + k.f[1] * M + k.f[2] * (QM + M * Q);
    Matrix i_gamma, E;  // i Gamma, exp(iQ)
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j) {
        i_gamma.e[i][j] = {-gamma.e[i][j].im, gamma.e[i][j].re};
        E.e[i][j] = k.f[1] * Q.e[i][j];
        mul_add(E.e[i][j], k.f[2], square.e[i][j]);
        if (i == j) E.e[i][j] = E.e[i][j] + k.f[0];
      }
    const Matrix X = traceless_antihermitian(i_gamma);
    X_.store(block, mu, X);
    Z_.store(block, mu, dagger_mul(U, X * U));
    G_.store(block, mu, G * E + dagger_mul(C, X));
  }

  StoutChainCall call_;
  Gauge U_, G_, X_, Z_;
};

template <class Layout, class Storage>
class StoutChainStaples {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit StoutChainStaples(const StoutChainCall& call)
      : call_{call},
        U_{call.gauge.links, call.gauge.tables},
        G_{call.derivative, call.gauge.tables},
        X_{call.X, call.gauge.tables},
        Z_{call.Z, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      Matrix sum = G_.link(x, mu);
      for (int nu = 0; nu < 4; ++nu)
        if (nu != mu && (call_.rho[mu][nu] != 0 || call_.rho[nu][mu] != 0))
          sum = sum - plane(x, mu, nu, Real(call_.rho[mu][nu]), Real(call_.rho[nu][mu]));
      G_.store(block, mu, sum);
    }
  }

 private:
  TRELLIS_SITE_FN Matrix plane(Position x, int mu, int nu, const Real& rho, const Real& other) const {
    const Position xm = U_.step(x, mu, 1), up = U_.step(x, nu, 1);
    const Matrix a_b = mul_dagger(U_.link(xm, nu), U_.link(up, mu));
    const Matrix inner = a_b * (rho * X_.link(up, mu) + other * Z_.link(x, nu));
    const Matrix upper = mul_dagger(inner - other * (X_.link(xm, nu) * a_b), U_.link(x, nu));
    const Position down = U_.step(x, nu, -1), corner = U_.step(down, mu, 1);
    const Matrix e = U_.link(down, mu);
    const Matrix bracket = dagger_mul(e, rho * X_.link(down, mu) - other * X_.link(down, nu)) +
                           other * mul_dagger(X_.link(corner, nu), e);
    return upper + dagger_mul(U_.link(corner, nu), bracket * U_.link(down, nu));
  }

  StoutChainCall call_;
  Gauge U_, G_, X_, Z_;
};

/// G' becomes the link part of G; X and Z are written.
template <class Layout, class Storage>
void launch_stout_chain_link(const StoutChainCall& call, const SiteRange& inner_blocks);
/// The neighbours' part is added to G.
template <class Layout, class Storage>
void launch_stout_chain_staples(const StoutChainCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
