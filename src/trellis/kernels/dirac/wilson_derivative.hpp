#pragma once
/// This is the derivative of Re Y^dagger D X by the links, D the Wilson-clover operator, X and Y fixed:
///
///   hops:    G_mu(x) += w_mu(x) sum_{s=1,2} [ (P- X)_s(x+mu) (P- Y)_s(x)^dagger + (P+ Y)_s(x+mu) (P+
///   X)_s(x)^dagger ],
///            P+- = 1 +- gamma_mu (upper spins), w = -1/2 (boundary phase, anisotropy);
///   clover:  delta of sum_{mu<nu} Re tr[ B_munu delta Q_munu ], B = (W - W^dagger) / 8,
///            W_ij = -(c_munu / 2) sum_s (gamma_mu gamma_nu X)_{s i} conj(Y_{s j}),
///            Q the sum of the four leaves of the field strength.
///
/// X, Y and B live in the order of the gauge field with its halo (72 reals a site: X, Y in two slots of 24;
/// six planes of B, 9 reals each, in slots of 12).
#include "trellis/algebra/spinor.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// Returns N reals of any site, with lanes moved as the steps demand.
template <class Layout, class Storage, int N>
class MovedArray {
 public:
  using Array = SiteArray<Layout, Storage, N>;
  using Real = typename Array::Real;
  MovedArray(const RawField& raw, const ExtendedTables& tables) : array_{raw}, tables_{tables} {}
  TRELLIS_SITE_FN void load(Position p, int slot, Real (&r)[N]) const {
    array_.load(p.block, slot, r);
    if constexpr (Layout::lanes > 1) {
      if (p.shift != 0)
        for (int i = 0; i < N; ++i) r[i] = permute(r[i], tables_.permutations + 16 * p.shift);
    }
  }
  /// Returns the first M of them.
  template <int M>
  TRELLIS_SITE_FN void load_first(Position p, int slot, Real (&r)[M]) const {
    array_.load_part(p.block, slot, 0, r);
    if constexpr (Layout::lanes > 1) {
      if (p.shift != 0)
        for (int i = 0; i < M; ++i) r[i] = permute(r[i], tables_.permutations + 16 * p.shift);
    }
  }

 private:
  Array array_;
  ExtendedTables tables_;
};

/// An anti-hermitian matrix is 9 reals: the imaginary parts of the diagonal, then (1,0), (2,0), (2,1).
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> antihermitian_matrix(const R (&r)[9]) {
  ColorMatrix<R> B;
  for (int i = 0; i < 3; ++i) B.e[i][i] = {R(0.0), r[i]};
  const int row[3] = {1, 2, 2}, column[3] = {0, 0, 1};
  for (int k = 0; k < 3; ++k) {
    B.e[row[k]][column[k]] = {r[3 + 2 * k], r[4 + 2 * k]};
    B.e[column[k]][row[k]] = {-r[3 + 2 * k], r[4 + 2 * k]};
  }
  return B;
}
/// Adds to r the anti-hermitian part (W - W^dagger) times a.
template <class R>
TRELLIS_SITE_FN void add_antihermitian(R (&r)[9], const R& a, const ColorMatrix<R>& W) {
  for (int i = 0; i < 3; ++i) r[i] = fma(R(2.0) * a, W.e[i][i].im, r[i]);
  const int row[3] = {1, 2, 2}, column[3] = {0, 0, 1};
  for (int k = 0; k < 3; ++k) {
    const Complex<R> w = W.e[row[k]][column[k]], v = W.e[column[k]][row[k]];
    r[3 + 2 * k] = fma(a, w.re - v.re, r[3 + 2 * k]);
    r[4 + 2 * k] = fma(a, w.im + v.im, r[4 + 2 * k]);
  }
}

/// Returns 0 .. 5 for mu < nu.
TRELLIS_SITE_FN int plane_index(int mu, int nu) { return mu == 0 ? nu - 1 : mu + nu; }

struct SpinorPairCall {
  RawField X, Y;                    ///< they are spinors of one parity
  int slot = 0;                     ///< it is the right-hand side
  const int32_t* target = nullptr;  ///< it has [even-odd block]: extended block
  RawField pair;                    ///< two of its three slots of 24 are used
};

/// It copies X and Y to the order of the gauge field.
template <class Layout, class Storage>
class SpinorPair {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = typename Array::Real;
  explicit SpinorPair(const SpinorPairCall& call) : call_{call}, X_{call.X}, Y_{call.Y}, pair_{call.pair} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    Real r[24];
    X_.load(block, call_.slot, r);
    pair_.store(call_.target[block], 0, r);
    Y_.load(block, call_.slot, r);
    pair_.store(call_.target[block], 1, r);
  }

 private:
  SpinorPairCall call_;
  Array X_, Y_, pair_;
};

struct WilsonDerivativeCall {
  RawField derivative, pair, weights;  ///< weights are [block][4 complex][lane]
  ExtendedTables tables;
  double coefficient = 1;
};

inline constexpr double wilson_derivative_flops = 4 * (4 * 12 + 4 * 9 * 8 + 9 * 8);

template <class Layout, class Storage>
class WilsonHopDerivative {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit WilsonHopDerivative(const WilsonDerivativeCall& call)
      : G_{call.derivative, call.tables},
        pair_{call.pair, call.tables},
        weights_{call.weights},
        coefficient_{call.coefficient} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = G_.at(block);
    const Spinor<Real> X = spinor(x, 0), Y = spinor(x, 1);
    Real w[8];
    weights_.load(block, 0, w);
    unroll<4>([&](auto mu) TRELLIS_INLINE_LAMBDA {
      const Position y = G_.step(x, mu, 1);
      auto sum = zero_matrix<Real>();
      add_products(sum, project<mu>(spinor(y, 0), Real(-1.0)), project<mu>(Y, Real(-1.0)));
      add_products(sum, project<mu>(spinor(y, 1), Real(1.0)), project<mu>(X, Real(1.0)));
      const Complex<Real> weight = {Real(coefficient_) * w[2 * mu], Real(coefficient_) * w[2 * mu + 1]};
      G_.store(block, mu, G_.link(x, mu) + weight * sum);
    });
  }

 private:
  TRELLIS_SITE_FN Spinor<Real> spinor(Position p, int slot) const {
    Spinor<Real> s;
    pair_.load(p, slot, reinterpret_cast<Real(&)[24]>(s));
    return s;
  }
  /// Adds: sum_ij += sum_s a_{s i} conj(b_{s j}).
  TRELLIS_SITE_FN static void add_products(ColorMatrix<Real>& sum, const HalfSpinor<Real>& a,
                                           const HalfSpinor<Real>& b) {
    for (int s = 0; s < 2; ++s)
      for (int i = 0; i < Nc; ++i)
        for (int j = 0; j < Nc; ++j) conj_mul_add(sum.e[i][j], b.s[s].c[j], a.s[s].c[i]);
  }
  Gauge G_;
  MovedArray<Layout, Storage, 24> pair_;
  SiteArray<Layout, Storage, 8> weights_;
  double coefficient_;
};

struct CloverInsertionCall {
  RawField insertion;                   ///< it is B
  RawField pair;                        ///< it is X, Y, where there is no inverse
  RawField inverse;                     ///< it is A^-1 of one parity, 72 reals; or null
  const int32_t* even_odd = nullptr;    ///< it has [extended block]: block << 1 | parity
  int parity = 0;                       ///< it is that of the inverse
  double coefficient[4][4] = {};        ///< it is c_munu, mu < nu, times a factor
  double gamma[4][4][2][2][2][2] = {};  ///< it is gamma_mu gamma_nu: [mu][nu][chirality][row][column][re, im]
};

/// It adds to B the part of a pair, or of the determinant of A: W_ij = -(c / 2) sum_{s s'} (A^-1)_{s' i, s j}
/// (gamma gamma)_{s s'}.
template <class Layout, class Storage>
class CloverInsertion {
 public:
  using Array = SiteArray<Layout, Storage, 12>;
  using Real = typename Array::Real;
  explicit CloverInsertion(const CloverInsertionCall& call)
      : call_{call}, B_{call.insertion}, pair_{call.pair}, inverse_{call.inverse} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    if (!inverse_.is_null()) {
      const int32_t at = call_.even_odd[block];
      if ((at & 1) != call_.parity) return;
      Real A[72];
      inverse_.load(at >> 1, 0, A);
      for_each_plane(block, [&](int mu, int nu) { return of_inverse(A, call_.gamma[mu][nu]); });
      return;
    }
    Spinor<Real> X, Y;
    pair_.load(block, 0, reinterpret_cast<Real(&)[24]>(X));
    pair_.load(block, 1, reinterpret_cast<Real(&)[24]>(Y));
    for_each_plane(block, [&](int mu, int nu) { return of_pair(X, Y, call_.gamma[mu][nu]); });
  }

 private:
  template <class F>
  TRELLIS_SITE_FN void for_each_plane(int block, const F& f) const {
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = mu + 1; nu < 4; ++nu) {
        Real r[9];
        B_.load_part(block, plane_index(mu, nu), 0, r);
        add_antihermitian(r, Real(-0.5 * call_.coefficient[mu][nu] / 8), f(mu, nu));
        B_.store_part(block, plane_index(mu, nu), 0, r);
      }
  }
  using Gammas = double[2][2][2][2];
  TRELLIS_SITE_FN static ColorMatrix<Real> of_pair(const Spinor<Real>& X, const Spinor<Real>& Y,
                                                   const Gammas& g) {
    auto W = zero_matrix<Real>();
    for (int chirality = 0; chirality < 2; ++chirality)
      for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 2; ++column) {
          const double* z = g[chirality][row][column];
          if (z[0] == 0 && z[1] == 0) continue;
          const Complex<Real> factor = {Real(z[0]), Real(z[1])};
          for (int i = 0; i < Nc; ++i) {
            const Complex<Real> x = factor * X.s[2 * chirality + column].c[i];
            for (int j = 0; j < Nc; ++j) conj_mul_add(W.e[i][j], Y.s[2 * chirality + row].c[j], x);
          }
        }
    return W;
  }
  TRELLIS_SITE_FN static ColorMatrix<Real> of_inverse(const Real (&A)[72], const Gammas& g) {
    auto W = zero_matrix<Real>();
    for (int chirality = 0; chirality < 2; ++chirality)
      for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 2; ++column) {
          const double* z = g[chirality][row][column];
          if (z[0] == 0 && z[1] == 0) continue;
          const Complex<Real> factor = {Real(z[0]), Real(z[1])};
          for (int i = 0; i < Nc; ++i)
            for (int j = 0; j < Nc; ++j)
              mul_add(W.e[i][j], factor, entry(A, chirality, 3 * column + i, 3 * row + j));
        }
    return W;
  }
  TRELLIS_SITE_FN static Complex<Real> entry(const Real (&A)[72], int chirality, int i, int j) {
    const int first = 36 * chirality;
    if (i == j) return {A[first + i], Real(0.0)};
    const int k = first + 6 + 2 * (i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i);
    return {A[k], i > j ? A[k + 1] : -A[k + 1]};
  }
  CloverInsertionCall call_;
  Array B_;
  SiteArray<Layout, Storage, 24> pair_;
  SiteArray<Layout, Storage, 72> inverse_;
};

inline constexpr double clover_derivative_flops = 12 * 18 * 198.0;

struct CloverDerivativeCall {
  GaugeCall gauge;
  RawField derivative, insertion;
};

/// In each plane, with a = U_nu(x+mu), b = U_mu(x+nu), c = U_nu(x), d = U_nu(x-nu+mu), e = U_mu(x-nu), g =
/// U_nu(x-nu) and B_numu = -B_munu, B at the corners of the two plaquettes with U_mu(x):
///
///   G += a b' c' B(x) + B(x+mu) a b' c' + a B(x+mu+nu) b' c' + a b' B(x+nu) c'
///      - d' e' B(x-nu) g - d' B(x-nu+mu) e' g - B(x+mu) d' e' g - d' e' g B(x).
template <class Layout, class Storage>
class CloverDerivative {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit CloverDerivative(const CloverDerivativeCall& call)
      : U_{call.gauge.links, call.gauge.tables},
        G_{call.derivative, call.gauge.tables},
        B_{call.insertion, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      Matrix sum = G_.link(x, mu);
      for (int nu = 0; nu < 4; ++nu)
        if (nu != mu) sum = sum + plane(x, mu, nu);
      G_.store(block, mu, sum);
    }
  }

 private:
  TRELLIS_SITE_FN Matrix insertion(Position p, int mu, int nu) const {
    Real r[9];
    B_.load_first(p, plane_index(mu < nu ? mu : nu, mu < nu ? nu : mu), r);
    if (mu > nu)
      for (Real& x : r) x = -x;
    return antihermitian_matrix(r);
  }
  TRELLIS_SITE_FN Matrix plane(Position x, int mu, int nu) const {
    const Position xm = U_.step(x, mu, 1), up = U_.step(x, nu, 1), far = U_.step(xm, nu, 1);
    const Position down = U_.step(x, nu, -1), corner = U_.step(down, mu, 1);
    const Matrix a = U_.link(xm, nu), b = U_.link(up, mu), c = U_.link(x, nu);
    const Matrix here = insertion(x, mu, nu), there = insertion(xm, mu, nu);
    const Matrix upper = mul_dagger(mul_dagger(a, b), c);
    const Matrix bent = mul_dagger(insertion(far, mu, nu), b) + dagger_mul(b, insertion(up, mu, nu));
    Matrix sum = upper * here + there * upper + mul_dagger(a * bent, c);
    const Matrix d = U_.link(corner, nu), e = U_.link(down, mu), g = U_.link(down, nu);
    const Matrix lower = dagger_mul(e * d, g);
    const Matrix low = dagger_mul(e, insertion(down, mu, nu)) + mul_dagger(insertion(corner, mu, nu), e);
    return sum - (lower * here + there * lower + dagger_mul(d, low * g));
  }
  Gauge U_, G_;
  MovedArray<Layout, Storage, 12> B_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_spinor_pair(const SpinorPairCall& call, const SiteRange& even_odd_blocks);
template <class Layout, class Storage>
void launch_wilson_derivative(const WilsonDerivativeCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_clover_insertion(const CloverInsertionCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_clover_derivative(const CloverDerivativeCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
