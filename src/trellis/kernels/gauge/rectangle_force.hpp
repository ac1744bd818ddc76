#pragma once
/// The force of the action with 1x1 and 2x1 loops from stored staples: a rectangle that contains U_mu(x) is a
/// plaquette with one of its other links replaced by the staple on its far side. 156 products a site, where
/// walks along all loops take 336.
///
/// Stored at x for each plane (mu < nu), four matrices:
///   0: S+_mu,nu(x) = U_nu(x) U_mu(x+nu) U_nu(x+mu)^dagger     1: S+_nu,mu(x)
///   2: S-_mu,nu(x+nu) = U_nu(x)^dagger U_mu(x) U_nu(x+mu)     3: S-_nu,mu(x+mu)
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

inline constexpr int plane_count = 6;

inline constexpr KernelCost stored_staples_cost{6 * 6 * 198, (72 + 6 * 72) * 8};
inline constexpr KernelCost stored_force_cost{24 * (5 * 198 + 4 * 18) + 4 * (198 + 30), (7 * 72 + 64) * 8};

struct RectangleForceCall {
  GaugeCall gauge;
  RawField staples[plane_count];
  RawField force;
  double c0 = 1, c1 = 0;
  double coefficient = 0;  ///< beta / 6 (times a step, a sign)
};

template <class Layout, class Storage>
class StoredStaples {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit StoredStaples(const RectangleForceCall& call)
      : call_{call}, U_{call.gauge.links, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    int plane = 0;
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = mu + 1; nu < 4; ++nu, ++plane) {
        const Gauge out(call_.staples[plane], call_.gauge.tables);
        const auto U_mu = U_.link(x, mu), U_nu = U_.link(x, nu);
        const auto far_nu = U_.link(U_.step(x, mu, 1), nu), far_mu = U_.link(U_.step(x, nu, 1), mu);
        const auto first = U_mu * far_nu, second = U_nu * far_mu;
        out.store(block, 0, mul_dagger(second, far_nu));
        out.store(block, 1, mul_dagger(first, far_mu));
        out.store(block, 2, dagger_mul(U_nu, first));
        out.store(block, 3, dagger_mul(U_mu, second));
      }
  }

 private:
  RectangleForceCall call_;
  Gauge U_;
};

/// force_a += coefficient (components of TA(U A^dagger)), A = c0 (staples) + c1 (rectangle staples).
template <class Layout, class Storage>
class RectangleForce {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit RectangleForce(const RectangleForceCall& call)
      : call_{call}, U_{call.gauge.links, call.gauge.tables}, force_{call.force} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      auto A = zero_matrix<Real>();
      for (int nu = 0; nu < 4; ++nu)
        if (nu != mu) A = A + upper(x, mu, nu) + lower(x, mu, nu);
      Real p[8], f[8];
      algebra_components(mul_dagger(U_.link(x, mu), A), p);
      force_.load(block, mu, f);
      for (int a = 0; a < 8; ++a) f[a] = fma(Real(call_.coefficient), p[a], f[a]);
      force_.store(block, mu, f);
    }
  }

 private:
  TRELLIS_SITE_FN Matrix stored(Position x, int mu, int nu, int kind) const {
    const int low = mu < nu ? mu : nu, high = mu < nu ? nu : mu;
    const int plane = low == 0 ? high - 1 : low + high;
    return Gauge(call_.staples[plane], call_.gauge.tables).link(x, 2 * kind + (mu < nu ? 0 : 1));
  }
  /// S+_mu,nu(x), and S-_mu,nu(x + nu)
  TRELLIS_SITE_FN Matrix above(Position x, int mu, int nu) const { return stored(x, mu, nu, 0); }
  TRELLIS_SITE_FN Matrix below(Position x, int mu, int nu) const { return stored(x, mu, nu, 1); }

  /// a = U_nu(x), b = U_mu(x+nu), c = U_nu(x+mu): each in turn replaced by its outer staple.
  TRELLIS_SITE_FN Matrix upper(Position x, int mu, int nu) const {
    const Real c0(call_.c0), c1(call_.c1);
    const Position xn = U_.step(x, nu, 1), xm = U_.step(x, mu, 1), back = U_.step(x, mu, -1);
    const Matrix b = U_.link(xn, mu), c = U_.link(xm, nu);
    const Matrix inner =
        mul_dagger(c0 * b + c1 * above(xn, mu, nu), c) + c1 * mul_dagger(b, above(xm, nu, mu));
    return U_.link(x, nu) * inner + c1 * (below(back, nu, mu) * mul_dagger(b, c));
  }
  /// d = U_nu(x-nu+mu), e = U_mu(x-nu), g = U_nu(x-nu)
  TRELLIS_SITE_FN Matrix lower(Position x, int mu, int nu) const {
    const Real c0(call_.c0), c1(call_.c1);
    const Position y = U_.step(x, nu, -1), ym = U_.step(y, mu, 1);
    const Matrix d = U_.link(ym, nu), e = U_.link(y, mu);
    const Matrix inner = (c0 * e + c1 * below(U_.step(y, nu, -1), mu, nu)) * d + c1 * (e * above(ym, nu, mu));
    return dagger_mul(U_.link(y, nu), inner) + c1 * dagger_mul(below(U_.step(y, mu, -1), nu, mu), e * d);
  }

  RectangleForceCall call_;
  Gauge U_;
  SiteArray<Layout, Storage, 8> force_;
};

template <class Layout, class Storage>
void launch_stored_staples(const RectangleForceCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_rectangle_force(const RectangleForceCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
