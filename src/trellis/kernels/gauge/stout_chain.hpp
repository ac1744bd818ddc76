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
///
/// The first terms of (mu, nu) and (nu, mu) share a b^dagger. The links are visited plane by plane, in slices
/// (lattice/plane_slices.hpp) whose links, X and Z stay in a cache.
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// Per site. Link part: 8 products, series and sums. Neighbours: in each of 6 planes 15 products, 6 multiples
/// and 10 sums of matrices.
inline constexpr KernelCost stout_chain_link_cost{4 * (8 * 198 + 22 * 30 + 300), 6 * 72 * 8};
inline constexpr KernelCost stout_chain_staples_cost{6 * (15 * 198 + 16 * 18), 6 * (3 * 36 + 2 * 36) * 8};

struct StoutChainCall {
  GaugeCall gauge;        ///< U
  RawField staples;       ///< C, as stout_level() left it
  RawField derivative;    ///< G' in, G out
  RawField X, Z;          ///< [block][mu][18][lane]; X with its halo in the second part
  double rho[4][4] = {};  ///< [mu][nu]; a row of zeros copies the link
};
/// One plane (mu < nu) of the second part; tables of PlaneSlices.
struct StoutPlaneCall {
  StoutChainCall chain;
  int mu = 0, nu = 1;
  int blocks_per_slice = 0;
  const int32_t *blocks = nullptr, *inner = nullptr;
  int inner_count = 0;
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
        C_{call.staples, call.gauge.tables},
        G_{call.derivative, call.gauge.tables},
        X_{call.X, call.gauge.tables},
        Z_{call.Z, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      bool is_smeared = false;
      for (int nu = 0; nu < 4; ++nu) is_smeared = is_smeared || (nu != mu && call_.rho[mu][nu] != 0);
      if (is_smeared) {
        link_part(block, mu, U_.link(x, mu), G_.link(x, mu), C_.link(x, mu));
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
  Gauge U_, C_, G_, X_, Z_;
};

template <class Layout, class Storage>
class StoutChainPlane {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Array = SiteArray<Layout, Storage, 18>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit StoutChainPlane(const StoutPlaneCall& call)
      : call_{call},
        steps_{call.chain.gauge.links, call.chain.gauge.tables},
        U_{call.chain.gauge.links},
        G_{call.chain.derivative},
        X_{call.chain.X},
        Z_{call.chain.Z},
        rho_{call.chain.rho[call.mu][call.nu]},
        other_{call.chain.rho[call.nu][call.mu]} {}

  TRELLIS_SITE_FN void operator()(int slice) const {
    const int32_t* blocks = call_.blocks + size_t(slice) * size_t(call_.blocks_per_slice);
    for (int i = 0; i < call_.inner_count; ++i) site(blocks[call_.inner[i]]);
  }

 private:
  TRELLIS_SITE_FN Matrix load(const Array& array, Position x, int mu) const {
    Matrix m = load_object<Matrix, Array, Real, 18>(array, x.block, mu);
    if constexpr (Layout::lanes > 1) {
      if (x.shift != 0) {
        const int32_t* source = call_.chain.gauge.tables.permutations + 16 * x.shift;
        unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
          Complex<Real>& z = m.e[k / Nc][k % Nc];
          z = {permute(z.re, source), permute(z.im, source)};
        });
      }
    }
    return m;
  }
  TRELLIS_SITE_FN void subtract(int block, int mu, const Matrix& part) const {
    const Matrix G = load_object<Matrix, Array, Real, 18>(G_, block, mu);
    store_object<Matrix, Array, Real, 18>(G_, block, mu, G - part);
  }

  TRELLIS_SITE_FN void site(int block) const {
    const int mu = call_.mu, nu = call_.nu;
    const Position x = steps_.at(block), ahead = steps_.step(x, mu, 1), above = steps_.step(x, nu, 1);
    const Real rho(rho_), other(other_);
    const Matrix a_b = mul_dagger(load(U_, ahead, nu), load(U_, above, mu));
    const Matrix X_a = load(X_, ahead, nu), X_b = load(X_, above, mu);
    const Matrix for_mu = a_b * (rho * X_b + other * load(Z_, x, nu)) - other * (X_a * a_b);
    subtract(block, mu, mul_dagger(for_mu, load(U_, x, nu)) + lower(x, mu, nu, rho, other));
    const Matrix for_nu = dagger_mul(a_b, other * X_a + rho * load(Z_, x, mu)) - rho * mul_dagger(X_b, a_b);
    subtract(block, nu, mul_dagger(for_nu, load(U_, x, mu)) + lower(x, nu, mu, other, rho));
  }
  TRELLIS_SITE_FN Matrix lower(Position x, int mu, int nu, const Real& rho, const Real& other) const {
    const Position down = steps_.step(x, nu, -1), corner = steps_.step(down, mu, 1);
    const Matrix e = load(U_, down, mu);
    const Matrix bracket = dagger_mul(e, rho * load(X_, down, mu) - other * load(X_, down, nu)) +
                           other * mul_dagger(load(X_, corner, nu), e);
    return dagger_mul(load(U_, corner, nu), bracket * load(U_, down, nu));
  }

  StoutPlaneCall call_;
  Gauge steps_;
  Array U_, G_, X_, Z_;
  double rho_, other_;
};

/// G' becomes the link part of G; X and Z are written.
template <class Layout, class Storage>
void launch_stout_chain_link(const StoutChainCall& call, const SiteRange& inner_blocks);
/// The neighbours' part of one plane is added to G.
template <class Layout, class Storage>
void launch_stout_chain_plane(const StoutPlaneCall& call, int slices);

}  // namespace trellis
