#pragma once
/// The clover term has two hermitian 6x6 blocks per site, and an inverse (doc/conventions.md, Wilson
/// fermions):
///
///   A(x) = diagonal + sum_{mu<nu} c_munu (i/2) sigma_munu F_munu(x),   sigma_munu = i gamma_mu gamma_nu (mu
///   != nu) F_munu = (Q_munu - Q_munu^dagger) / 8,  Q_munu the sum of the four plaquette leaves in the plane,
///   trace kept.
///
/// A site has 72 reals: for each chirality the 6 diagonal reals, then the 15 complex entries below the
/// diagonal, row by row; index = 3 spin + colour within the chirality. F takes about 24 matrix products (198
/// flop) a site.
#include "trellis/view/gauge_view.hpp"

namespace trellis {

struct CloverTermCall {
  RawField links;
  ExtendedTables tables;
  RawField out[2];                    ///< there is one for each parity, in double, with the same lanes
  const int32_t* even_odd = nullptr;  ///< [extended block]: block << 1 | parity of the even-odd order
  double diagonal = 0;
  double coefficient[4][4] = {};        ///< it is c_munu, mu < nu
  double gamma[4][4][2][2][2][2] = {};  ///< it is gamma_mu gamma_nu: [mu][nu][chirality][row][column][re, im]
};

/// Returns the clover field strength F_munu(x) (anti-hermitian up to rounding; the trace is kept).
template <class View>
TRELLIS_SITE_FN auto field_strength(const View& U, Position x, int mu, int nu) {
  using R = typename View::Real;
  const Position xm = U.step(x, mu, 1), xn = U.step(x, nu, 1), bm = U.step(x, mu, -1), bn = U.step(x, nu, -1);
  const Position bmn = U.step(bm, nu, 1), bnm = U.step(bn, mu, 1), bb = U.step(bm, nu, -1);
  // The leaves lie in the quadrants (+,+), (-mu,+nu), (-,-), (+mu,-nu), each starting and ending at x, in the
  // same orientation.
  ColorMatrix<R> Q = mul_dagger(mul_dagger(U.link(x, mu) * U.link(xm, nu), U.link(xn, mu)), U.link(x, nu));
  Q = Q + mul_dagger(U.link(x, nu), U.link(bmn, mu)) * dagger_mul(U.link(bm, nu), U.link(bm, mu));
  Q = Q + dagger_mul(U.link(bb, nu) * U.link(bm, mu), U.link(bb, mu) * U.link(bn, nu));
  Q = Q + dagger_mul(U.link(bn, nu), U.link(bn, mu)) * mul_dagger(U.link(bnm, nu), U.link(x, mu));
  return R(0.125) * (Q - dagger(Q));
}

template <class Layout, class Storage>
class CloverTerm {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  using Output = SiteArray<Layout, Storage, 72>;

  explicit CloverTerm(const CloverTermCall& call)
      : call_{call}, U_{call.links, call.tables}, out_{Output(call.out[0]), Output(call.out[1])} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    Real r[72];
    for (int k = 0; k < 72; ++k) r[k] = Real(k % 36 < 6 ? call_.diagonal : 0.0);
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = mu + 1; nu < 4; ++nu) add_plane(r, field_strength(U_, U_.at(block), mu, nu), mu, nu);
    const int32_t target = call_.even_odd[block];
    out_[target & 1].store(target >> 1, 0, r);
  }

 private:
  /// Adds (i/2) sigma F = -(1/2) gamma_mu gamma_nu F of one plane.
  TRELLIS_SITE_FN void add_plane(Real (&r)[72], const ColorMatrix<Real>& F, int mu, int nu) const {
    const double c = -0.5 * call_.coefficient[mu][nu];
    for (int chirality = 0; chirality < 2; ++chirality)
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j <= i; ++j) {
          const double* g = call_.gamma[mu][nu][chirality][i / 3][j / 3];
          const Complex<Real> factor = {Real(c * g[0]), Real(c * g[1])};
          const Complex<Real> term = factor * F.e[i % 3][j % 3];
          Real* block = r + 36 * chirality;
          if (i == j) {
            block[i] = block[i] + term.re;
          } else {
            const int k = 6 + 2 * (i * (i - 1) / 2 + j);
            block[k] = block[k] + term.re;
            block[k + 1] = block[k + 1] + term.im;
          }
        }
  }

  CloverTermCall call_;
  Gauge U_;
  Output out_[2];
};

/// Inverts a hermitian 6x6 block by A = L D L^dagger (without pivoting: the clover blocks are diagonally
/// dominated).
template <class R>
TRELLIS_SITE_FN void invert_hermitian_block(R (&a)[36]) {
  Complex<R> L[6][6], V[6][6];
  R d[6], inverse_d[6];
  for (int j = 0; j < 6; ++j) {
    d[j] = a[j];
    for (int k = 0; k < j; ++k) d[j] = fnma(norm2(L[j][k]), d[k], d[j]);
    inverse_d[j] = R(1) / d[j];
    for (int i = j + 1; i < 6; ++i) {
      const int at = 6 + 2 * (i * (i - 1) / 2 + j);
      Complex<R> sum = {a[at], a[at + 1]};
      for (int k = 0; k < j; ++k) {
        const Complex<R> t = conj_mul(L[j][k], L[i][k]);
        sum = {fnma(t.re, d[k], sum.re), fnma(t.im, d[k], sum.im)};
      }
      L[i][j] = inverse_d[j] * sum;
    }
  }
  for (int j = 0; j < 6; ++j) {  // V = L^-1 is unit lower triangular
    V[j][j] = {R(1), R(0)};
    for (int i = j + 1; i < 6; ++i) {
      Complex<R> sum = -L[i][j];
      for (int k = j + 1; k < i; ++k) {
        const Complex<R> t = L[i][k] * V[k][j];
        sum = sum - t;
      }
      V[i][j] = sum;
    }
  }
  for (int i = 0; i < 6; ++i)  // A^-1 = V^dagger D^-1 V
    for (int j = 0; j <= i; ++j) {
      Complex<R> sum = {R(0), R(0)};
      for (int k = i; k < 6; ++k) {
        const Complex<R> t = conj_mul(V[k][i], V[k][j]);
        sum = {fma(t.re, inverse_d[k], sum.re), fma(t.im, inverse_d[k], sum.im)};
      }
      if (i == j) {
        a[i] = sum.re;
      } else {
        const int at = 6 + 2 * (i * (i - 1) / 2 + j);
        a[at] = sum.re;
        a[at + 1] = sum.im;
      }
    }
}

template <class Layout, class Storage>
class CloverInverse {
 public:
  using Array = SiteArray<Layout, Storage, 72>;
  using Real = typename Array::Real;
  CloverInverse(const RawField& out, const RawField& in) : out_{out}, in_{in} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    Real r[72];
    in_.load(block, 0, r);
    for (int chirality = 0; chirality < 2; ++chirality) {
      Real a[36];
      for (int k = 0; k < 36; ++k) a[k] = r[36 * chirality + k];
      invert_hermitian_block(a);
      for (int k = 0; k < 36; ++k) r[36 * chirality + k] = a[k];
    }
    out_.store(block, 0, r);
  }

 private:
  Array out_, in_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_clover_term(const CloverTermCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_clover_inverse(const RawField& out, const RawField& in, const SiteRange& sites);

}  // namespace trellis
