#pragma once
/// The force of the action with 1x1 and 2x1 loops, link by link, as GPUs compute it: with the numbers and the
/// bits of kernels/gauge/rectangle_force.hpp, but each thread forms all that its link needs of its planes
/// again and again. That takes twice the products, and none of the ten matrices a site and plane that a CPU's
/// threads keep in a cache: a GPU would write them to its memory and read them back.
///
/// In each plane (mu, nu) of a link U_mu(x) there are X1 of the plaquette at x and X3 of the one at x - nu.
/// rectangle_force.hpp does the same for nu, with mu and nu exchanged.
#include "trellis/kernels/gauge/action.hpp"

namespace trellis {

/// A link has in each of 3 planes two X of 11 products each, and a projection.
inline constexpr KernelCost rectangle_links_cost{4 * (3 * (22 * 198 + 198 + 14 * 18 + 30)), (72 + 64) * 8};

/// It adds to force_a coefficient (components of TA(U A^dagger)).
template <class Layout>
class RectangleLinkForce {
 public:
  using Gauge = GaugeView<Layout, double>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit RectangleLinkForce(const GaugeForceCall& call)
      : call_{call}, U_{call.gauge.links, call.gauge.tables}, force_{call.force} {}

  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const Position x = U_.at(block);
    TRELLIS_GPU_LOOP
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      const Matrix X3 = below(U_.step(x, nu, -1), mu, nu);
      const Matrix X = above(x, mu, nu) + X3;
      Real p[8], f[8];
      algebra_components(U_.link(x, mu) * X, p);
      force_.load(block, mu, f);
      unroll<8>([&](auto a) TRELLIS_INLINE_LAMBDA { f[a] = fma(Real(call_.coefficient), p[a], f[a]); });
      force_.store(block, mu, f);
    }
  }

 private:
  // These name the links of the plaquette at y: L1 and L3 lie along mu, L2 and L4 along nu.
  TRELLIS_SITE_FN Matrix L1(Position y, int mu, int) const { return U_.link(y, mu); }
  TRELLIS_SITE_FN Matrix L2(Position y, int mu, int nu) const { return U_.link(U_.step(y, mu, 1), nu); }
  TRELLIS_SITE_FN Matrix L3(Position y, int mu, int nu) const { return U_.link(U_.step(y, nu, 1), mu); }
  TRELLIS_SITE_FN Matrix L4(Position y, int, int nu) const { return U_.link(y, nu); }
  /// Returns f = L1 L2.
  TRELLIS_SITE_FN Matrix front(Position y, int mu, int nu) const { return L1(y, mu, nu) * L2(y, mu, nu); }
  /// Returns b = L4 L3.
  TRELLIS_SITE_FN Matrix back(Position y, int mu, int nu) const { return L4(y, mu, nu) * L3(y, mu, nu); }

  // These are c1 times the staples of the links of the plaquette at y outside it.
  TRELLIS_SITE_FN Matrix L1_out(Position y, int mu, int nu) const {
    const Position z = U_.step(y, nu, -1);
    const Matrix f = front(z, mu, nu);
    return Real(call_.c1) * dagger_mul(L4(z, mu, nu), f);
  }
  TRELLIS_SITE_FN Matrix L2_out(Position y, int mu, int nu) const {
    const Position z = U_.step(y, mu, 1);
    const Matrix f = front(z, mu, nu);
    return Real(call_.c1) * mul_dagger(f, L3(z, mu, nu));
  }
  TRELLIS_SITE_FN Matrix L3_out(Position y, int mu, int nu) const {
    const Position z = U_.step(y, nu, 1);
    const Matrix b = back(z, mu, nu);
    return Real(call_.c1) * mul_dagger(b, L2(z, mu, nu));
  }
  TRELLIS_SITE_FN Matrix L4_out(Position y, int mu, int nu) const {
    const Position z = U_.step(y, mu, -1);
    const Matrix b = back(z, mu, nu);
    return Real(call_.c1) * dagger_mul(L1(z, mu, nu), b);
  }

  /// Returns X1 of the plaquette at y, whose L1 is the link.
  TRELLIS_SITE_FN Matrix above(Position y, int mu, int nu) const {
    const Matrix outer4 = L4_out(y, mu, nu);
    Matrix b_out = outer4 * L3(y, mu, nu);
    const Matrix outer3 = L3_out(y, mu, nu);
    b_out = b_out + L4(y, mu, nu) * outer3;
    const Matrix second = mul_dagger(L2(y, mu, nu), b_out);
    const Matrix sum = L2_out(y, mu, nu) + Real(call_.c0) * L2(y, mu, nu);
    return second + mul_dagger(sum, back(y, mu, nu));
  }
  /// Returns X3 of the plaquette at y, whose L3 is the link.
  TRELLIS_SITE_FN Matrix below(Position y, int mu, int nu) const {
    const Matrix outer1 = L1_out(y, mu, nu);
    Matrix f_out = outer1 * L2(y, mu, nu);
    const Matrix outer2 = L2_out(y, mu, nu);
    f_out = f_out + L1(y, mu, nu) * outer2;
    const Matrix second = dagger_mul(f_out, L4(y, mu, nu));
    const Matrix sum = L4_out(y, mu, nu) + Real(call_.c0) * L4(y, mu, nu);
    return second + dagger_mul(front(y, mu, nu), sum);
  }

  GaugeForceCall call_;
  Gauge U_;
  SiteArray<Layout, double, 8> force_;
};

/// It is built for CudaLayout.
template <class Layout>
void launch_rectangle_links(const GaugeForceCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
