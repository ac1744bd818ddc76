#pragma once
/// The chain rule of one stout level (C. Morningstar and M. Peardon, Phys. Rev. D69 (2004) 054501, eqs.
/// 69-75) leads from G' with delta S = sum Re tr(G' delta U') to G with delta S = sum Re tr(G delta U), U' =
/// exp(iQ) U, iQ = TA(C U^dagger).
///
/// First comes the part of each link alone, with M = U G' and B_i = sum_j b_ij Q^j:
///
///   X = TA(i Gamma),  Gamma = tr(B1 M) Q + tr(B2 M) Q^2 + f1 M + f2 (Q M + M Q),
///   G = G' exp(iQ) + C^dagger X,
///
/// of whose Gamma only the hermitian part counts: with H(A) = (A + A^dagger) / 2
///
///   H(Gamma) = Re tr(B1 M) Q + Re tr(B2 M) Q^2 + H(f1 M) + {Q, H(f2 M)},
///
/// Then comes what the staples of the neighbours add, with Z = U^dagger X U and in each plane (mu, nu)
///
///   a = U_nu(x+mu), b = U_mu(x+nu), c = U_nu(x);   d = U_nu(x-nu+mu), e = U_mu(x-nu), g = U_nu(x-nu):
///
///   G -= { a b^dagger (rho_munu X_b + rho_numu Z_c) - rho_numu X_a a b^dagger } c^dagger
///      + d^dagger { e^dagger (rho_munu X_e - rho_numu X_g) + rho_numu X_d e^dagger } g.
///
/// All six planes of a site are gathered at once, so that G is read and written once; X and Z are
/// antihermitian, and half of their reals is read.
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// The numbers are those of a site. The link part takes 4 products, 2 with antihermitian matrices, Q^2 and
/// its invariants, the series, two traces and their weights, two hermitian parts, an anticommutator, the sum
/// of X, exp(iQ). The neighbours take for each of 6 planes 15 products, 8 of them with antihermitian
/// matrices, 4 combinations of these, 4 multiples and 8 sums of matrices. The must-move bytes of the
/// neighbours' part are U, X, Z once, G in and out.
inline constexpr KernelCost stout_chain_link_cost{
    4 * (4 * 198 + 2 * 162 + 24 + 81 + detail::exponential_derivative_flops + 2 * 58 + 22 + 2 * (54 + 12) +
         102 + 51 + 108 + 18),
    4 * (4 * 18 + 2 * 9) * 8};
inline constexpr KernelCost stout_chain_staples_cost{6 * (7 * 198 + 8 * 162 + 4 * 27 + 12 * 18),
                                                     4 * (18 + 9 + 9 + 2 * 18) * 8};

/// This is the sum of both parts.
inline constexpr KernelCost stout_chain_cost{stout_chain_link_cost.flops + stout_chain_staples_cost.flops,
                                             stout_chain_link_cost.bytes + stout_chain_staples_cost.bytes};

struct StoutChainCall {
  GaugeCall gauge;      ///< it has U
  RawField staples;     ///< it is C, as stout_level() left it
  RawField derivative;  ///< it has G' before, and G after
  RawField X, Z;  ///< they are [block][mu][18][lane], lower triangles; X has its halo in the second part
  double rho[4][4] = {};  ///< it is [mu][nu]; a row of zeros copies the link
};

template <class Layout, class Storage>
class StoutChainLink {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Array = SiteArray<Layout, Storage, 18>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  using Antihermitian = AntihermitianMatrix<Real>;
  explicit StoutChainLink(const StoutChainCall& call)
      : call_{call},
        U_{call.gauge.links, call.gauge.tables},
        C_{call.staples, call.gauge.tables},
        G_{call.derivative, call.gauge.tables},
        X_{call.X},
        Z_{call.Z} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) (*this)(block, mu);
  }
  /// Does one direction, which is what a thread of a GPU takes.
  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const Position x = U_.at(block);
    bool is_smeared = false;
    for (int nu = 0; nu < 4; ++nu) is_smeared = is_smeared || (nu != mu && call_.rho[mu][nu] != 0);
    if (is_smeared) {
      link_part(block, mu, U_.link(x, mu), G_.link(x, mu), C_.link(x, mu));
    } else {
      store_antihermitian(X_, call_.X, block, mu, antihermitian(zero_matrix<Real>()));
      store_antihermitian(Z_, call_.Z, block, mu, antihermitian(zero_matrix<Real>()));
    }
  }

 private:
  TRELLIS_SITE_FN void link_part(int block, int mu, const Matrix& U, const Matrix& G, const Matrix& C) const {
    const HermitianMatrix<Real> Q = hermitian(antihermitian(traceless_antihermitian(mul_dagger(C, U)))),
                                Q2 = square(Q);
    const ExponentialDerivatives<Real> k = exponential_derivatives(determinant(Q), half_trace(Q2));
    const Matrix M = U * G;
    const Complex<Real> t0 = trace(M), t1 = trace_of_product(Q, M), t2 = trace_of_product(Q2, M);
    const auto weight = [&](const Complex<Real>(&b)[3]) TRELLIS_INLINE_LAMBDA {
      return (b[0] * t0).re + (b[1] * t1).re + (b[2] * t2).re;
    };
    // The hermitian part of Gamma is all that X has of it.
    const Antihermitian X =
        traceless_times_i(weight(k.by_c1), Q, weight(k.by_c0), Q2, hermitian_part(k.f[1] * M),
                          anticommutator(Q, hermitian_part(k.f[2] * M)));
    store_antihermitian(X_, call_.X, block, mu, X);
    store_antihermitian(Z_, call_.Z, block, mu, antihermitian(dagger_mul(U, X * U)));
    G_.store(block, mu, G * polynomial(k.f, Q, Q2) + dagger_mul(C, X));
  }

  /// Returns i (r Q + s Q^2 + F + A) without its trace.
  TRELLIS_SITE_FN static Antihermitian traceless_times_i(const Real& r, const HermitianMatrix<Real>& Q,
                                                         const Real& s, const HermitianMatrix<Real>& Q2,
                                                         const HermitianMatrix<Real>& F,
                                                         const HermitianMatrix<Real>& A) {
    Antihermitian X;
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
      X.diagonal[i] = fma(r, Q.diagonal[i], fma(s, Q2.diagonal[i], F.diagonal[i] + A.diagonal[i]));
      X.below[i] = {-fma(r, Q.below[i].im, fma(s, Q2.below[i].im, F.below[i].im + A.below[i].im)),
                    fma(r, Q.below[i].re, fma(s, Q2.below[i].re, F.below[i].re + A.below[i].re))};
    });
    const Real third = Real(1.0 / 3.0) * ((X.diagonal[0] + X.diagonal[1]) + X.diagonal[2]);
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA { X.diagonal[i] = X.diagonal[i] - third; });
    return X;
  }

  /// Stores the diagonal's imaginary parts and the lower triangle: nothing else is read.
  TRELLIS_SITE_FN static void store_antihermitian(const Array& array, const RawField& field, int block,
                                                  int mu, const Antihermitian& X) {
    if constexpr (Gauge::Array::is_gpu) {
      const Matrix full = dense(X);
      unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
        unroll<i + 1>([&](auto j) TRELLIS_INLINE_LAMBDA {
          const Real number[2] = {full.e[i][j].re, full.e[i][j].im};
          if constexpr (sizeof(Storage) == 8)  // a number is a vector of the layout
            array.template store_group<2>(block, mu, 2 * (Nc * i + j), number);
          else
            array.template store_part<2>(block, mu, 2 * (Nc * i + j), number);
        });
      });
    } else {
      constexpr int W = Layout::lanes;
      Storage* p = static_cast<Storage*>(field.data) + (size_t(block) * 4 + size_t(mu)) * (18 * W);
      unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
        store_real(p + (8 * i + 1) * W, X.diagonal[i]);
        unroll<i>([&](auto j) TRELLIS_INLINE_LAMBDA {
          store_real(p + 2 * (Nc * i + j) * W, X.below[i + j - 1].re);
          store_real(p + (2 * (Nc * i + j) + 1) * W, X.below[i + j - 1].im);
        });
      });
    }
  }

  StoutChainCall call_;
  Gauge U_, C_, G_;
  Array X_, Z_;
};

template <class Layout, class Storage>
class StoutChainStaples {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Array = SiteArray<Layout, Storage, 18>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  using Antihermitian = AntihermitianMatrix<Real>;
  explicit StoutChainStaples(const StoutChainCall& call)
      : call_{call},
        steps_{call.gauge.links, call.gauge.tables},
        U_{call.gauge.links},
        G_{call.derivative},
        X_{call.X},
        Z_{call.Z} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = steps_.at(block);
    Matrix G[4];
    for (int mu = 0; mu < 4; ++mu) G[mu] = load_object<Matrix, Array, Real, 18>(G_, block, mu);
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = mu + 1; nu < 4; ++nu) {
        const Real rho(call_.rho[mu][nu]), other(call_.rho[nu][mu]);
        if (call_.rho[mu][nu] == 0 && call_.rho[nu][mu] == 0) continue;
        upper(x, mu, nu, rho, other, G[mu], G[nu]);
        G[mu] = G[mu] - lower(x, mu, nu, rho, other);
        G[nu] = G[nu] - lower(x, nu, mu, other, rho);
      }
    for (int mu = 0; mu < 4; ++mu) store_object<Matrix, Array, Real, 18>(G_, block, mu, G[mu]);
  }
  /// Does one direction, which is what a thread of a GPU takes: four sums are too many for its registers.
  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const Position x = steps_.at(block);
    Matrix G = load_object<Matrix, Array, Real, 18>(G_, block, mu);
    TRELLIS_GPU_LOOP
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu || (call_.rho[mu][nu] == 0 && call_.rho[nu][mu] == 0)) continue;
      const Real rho(call_.rho[mu][nu]), other(call_.rho[nu][mu]);
      G = mu < nu ? G - upper_of_first(far_corner(x, mu, nu), x, nu, rho, other)
                  : G - upper_of_second(far_corner(x, nu, mu), x, nu, other, rho);
      G = G - lower(x, mu, nu, rho, other);
    }
    store_object<Matrix, Array, Real, 18>(G_, block, mu, G);
  }

 private:
  TRELLIS_SITE_FN void move_lanes(Real& r, int shift) const {
    if constexpr (Layout::lanes > 1)
      if (shift != 0) r = permute(r, call_.gauge.tables.permutations + 16 * shift);
  }
  TRELLIS_SITE_FN Matrix link(Position x, int mu) const {
    Matrix m = load_object<Matrix, Array, Real, 18>(U_, x.block, mu);
    if (x.shift != 0)
      unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
        Complex<Real>& z = m.e[k / Nc][k % Nc];
        move_lanes(z.re, x.shift);
        move_lanes(z.im, x.shift);
      });
    return m;
  }
  TRELLIS_SITE_FN Antihermitian antihermitian(const Array& array, Position x, int mu) const {
    const auto component = [&](auto i) TRELLIS_INLINE_LAMBDA {
      Real r = array.template component<i>(x.block, mu, Real(1));
      move_lanes(r, x.shift);
      return r;
    };
    Antihermitian m;
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
      m.diagonal[i] = component(std::integral_constant<int, 8 * i + 1>{});
      unroll<i>([&](auto j) TRELLIS_INLINE_LAMBDA {
        constexpr int k = 2 * (Nc * i + j);
        m.below[i + j - 1] = {component(std::integral_constant<int, k>{}),
                              component(std::integral_constant<int, k + 1>{})};
      });
    });
    return m;
  }

  /// The two links of a plaquette above x that are not at x have a b^dagger, and X each.
  struct Corner {
    Matrix a_b;
    Antihermitian X_a, X_b;
  };
  TRELLIS_SITE_FN Corner far_corner(Position x, int mu, int nu) const {
    const Position ahead = steps_.step(x, mu, 1), above = steps_.step(x, nu, 1);
    return {mul_dagger(link(ahead, nu), link(above, mu)), antihermitian(X_, ahead, nu),
            antihermitian(X_, above, mu)};
  }
  // These are what the staples above x take from G_mu, and from G_nu.
  TRELLIS_SITE_FN Matrix upper_of_first(const Corner& c, Position x, int nu, const Real& rho,
                                        const Real& other) const {
    const Antihermitian sum = combination(rho, c.X_b, other, antihermitian(Z_, x, nu));
    return mul_dagger(c.a_b * sum - other * (c.X_a * c.a_b), link(x, nu));
  }
  TRELLIS_SITE_FN Matrix upper_of_second(const Corner& c, Position x, int mu, const Real& rho,
                                         const Real& other) const {
    const Antihermitian sum = combination(other, c.X_a, rho, antihermitian(Z_, x, mu));
    return mul_dagger(dagger_mul(c.a_b, sum) - rho * mul_dagger(c.X_b, c.a_b), link(x, mu));
  }
  /// Adds the staples above x of both directions: a b^dagger of one is the adjoint of that of the other.
  TRELLIS_SITE_FN void upper(Position x, int mu, int nu, const Real& rho, const Real& other, Matrix& G_mu,
                             Matrix& G_nu) const {
    const Corner c = far_corner(x, mu, nu);
    G_mu = G_mu - upper_of_first(c, x, nu, rho, other);
    G_nu = G_nu - upper_of_second(c, x, mu, rho, other);
  }
  TRELLIS_SITE_FN Matrix lower(Position x, int mu, int nu, const Real& rho, const Real& other) const {
    const Position down = steps_.step(x, nu, -1), corner = steps_.step(down, mu, 1);
    const Matrix e = link(down, mu);
    const Antihermitian sum =
        combination(rho, antihermitian(X_, down, mu), -other, antihermitian(X_, down, nu));
    const Matrix bracket = dagger_mul(e, sum) + other * mul_dagger(antihermitian(X_, corner, nu), e);
    return dagger_mul(link(corner, nu), bracket * link(down, nu));
  }

  StoutChainCall call_;
  Gauge steps_;
  Array U_, G_, X_, Z_;
};

/// Turns G' into the link part of G, and writes X and Z.
template <class Layout, class Storage>
void launch_stout_chain_link(const StoutChainCall& call, const SiteRange& inner_blocks);
/// Adds the neighbours' part to G.
template <class Layout, class Storage>
void launch_stout_chain_staples(const StoutChainCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
