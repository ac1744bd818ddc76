#include "trellis/gauge/hisq.hpp"

#include <optional>

#include "trellis/base/exact_sum.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/gauge/lane_dispatch.hpp"
#include "trellis/kernels/gauge/fat_links.hpp"
#include "trellis/kernels/gauge/u3_projection.hpp"

namespace trellis {

FatCoefficients fat7_coefficients() { return {1.0 / 8, 1.0 / 16, 1.0 / 64, 1.0 / 384, 0.0}; }

FatCoefficients hisq_coefficients(double epsilon) {
  return {1.0 / 8 + 2 * 6.0 / 16 + (1 + epsilon) / 8, 1.0 / 16, 1.0 / 64, 1.0 / 384, -2.0 / 16};
}

FatCoefficients asqtad_coefficients(double u0) {
  TRELLIS_REQUIRE(u0 > 0, "the tadpole factor u0 is ", u0);
  const double u2 = 1 / (u0 * u0), u4 = u2 * u2, u6 = u4 * u2;
  return {5.0 / 8, u2 / 16, u4 / 64, u6 / 384, -u4 / 16};
}

double asqtad_long_coefficient(double u0) {
  TRELLIS_REQUIRE(u0 > 0, "the tadpole factor u0 is ", u0);
  return -1.0 / (24.0 * u0 * u0);
}

namespace {
/// Returns a zero field with four slots that hold links in one direction.
GaugeField empty_like(const GaugeField& U) {
  GaugeField field = GaugeField::zeros_like(U);
  field.halo_is_stale();
  return field;
}

/// The staples of one direction mu are built and taken apart again.
class FatDirection {
 public:
  FatDirection(const GaugeField& U, const FatCoefficients& c, int mu)
      : U_{U}, c_{c}, mu_{mu}, inner_{empty_like(U)}, outer_{empty_like(U)} {}

  /// Builds inner[sigma] = c5 U + c7 staples_sigma(U) and outer[nu] = c3 U + sum_rho
  /// staples_rho(inner[sigma]); lepage fields get one-sided staples of U.
  void build() {
    for (int sigma = 0; sigma < Nd; ++sigma) {
      if (sigma == mu_) continue;
      axpy({inner_.raw(), sigma}, {U_.raw(), mu_}, c_.five_link);
      staples({inner_.raw(), sigma}, {U_.raw(), mu_}, sigma, true, true, c_.seven_link);
    }
    exchange(inner_);
    for (int nu = 0; nu < Nd; ++nu) {
      if (nu == mu_) continue;
      axpy({outer_.raw(), nu}, {U_.raw(), mu_}, c_.three_link);
      for_each_rho(nu, [&](int rho, int sigma) {
        staples({outer_.raw(), nu}, {inner_.raw(), sigma}, rho, true, true, 1.0);
      });
    }
    exchange(outer_);
    if (c_.lepage == 0) return;
    up_.emplace(empty_like(U_));
    down_.emplace(empty_like(U_));
    for (int nu = 0; nu < Nd; ++nu) {
      if (nu == mu_) continue;
      staples({up_->raw(), nu}, {U_.raw(), mu_}, nu, true, false, 1.0);
      staples({down_->raw(), nu}, {U_.raw(), mu_}, nu, false, true, 1.0);
    }
    exchange(*up_);
    exchange(*down_);
  }

  /// Adds the fat link: out_mu += it.
  void add_fat(GaugeField& out) {
    axpy({out.raw(), mu_}, {U_.raw(), mu_}, c_.one_link);
    for (int nu = 0; nu < Nd; ++nu) {
      if (nu == mu_) continue;
      staples({out.raw(), mu_}, {outer_.raw(), nu}, nu, true, true, 1.0);
      if (c_.lepage == 0) continue;
      staples({out.raw(), mu_}, {up_->raw(), nu}, nu, true, false, c_.lepage);
      staples({out.raw(), mu_}, {down_->raw(), nu}, nu, false, true, c_.lepage);
    }
  }

  /// Adds the derivative to F, by the steps of build() and add_fat() backwards; G is the derivative by the
  /// fat links, with a halo.
  void add_derivative(LinkDerivative& F, const LinkDerivative& G) {
    GaugeField of_inner = empty_like(U_), of_outer = empty_like(U_);
    const LinkSlot g{G.raw(), mu_}, f{F.raw(), mu_};
    axpy(f, g, c_.one_link);
    for (int nu = 0; nu < Nd; ++nu) {
      if (nu == mu_) continue;
      reverse(F, {outer_.raw(), nu}, g, {of_outer.raw(), nu}, nu, true, true, 1.0);
      axpy(f, {of_outer.raw(), nu}, c_.three_link);
    }
    exchange(of_outer);
    for (int nu = 0; nu < Nd; ++nu) {
      if (nu == mu_) continue;
      for_each_rho(nu, [&](int rho, int sigma) {
        reverse(F, {inner_.raw(), sigma}, {of_outer.raw(), nu}, {of_inner.raw(), sigma}, rho, true, true,
                1.0);
      });
    }
    exchange(of_inner);
    for (int sigma = 0; sigma < Nd; ++sigma) {
      if (sigma == mu_) continue;
      axpy(f, {of_inner.raw(), sigma}, c_.five_link);
      reverse(F, {U_.raw(), mu_}, {of_inner.raw(), sigma}, f, sigma, true, true, c_.seven_link);
    }
    if (c_.lepage == 0) return;
    reverse_lepage(F, g, *up_, true, false);
    reverse_lepage(F, g, *down_, false, true);
  }

 private:
  template <class F>
  void for_each_rho(int nu, const F& f) const {
    for (int rho = 0; rho < Nd; ++rho)
      if (rho != mu_ && rho != nu) f(rho, 6 - mu_ - nu - rho);
  }
  void axpy(const LinkSlot& out, const LinkSlot& in, double coefficient) const {
    const LinkAxpyCall call{out, in, U_.tables(), 1.0, coefficient};
    dispatch_gauge(
        U_, [&]<class Layout, class Storage>() { launch_link_axpy<Layout, Storage>(call, inner_sites(U_)); });
  }
  void staples(const LinkSlot& out, const LinkSlot& middle, int nu, bool up, bool down,
               double coefficient) const {
    const SidedStaplesCall call{gauge_call(U_), middle, out, mu_, nu, up, down, coefficient};
    dispatch_gauge(U_, [&]<class Layout, class Storage>() {
      launch_sided_staples<Layout, Storage>(call, inner_sites(U_));
    });
  }
  void reverse(LinkDerivative& F, const LinkSlot& middle, const LinkSlot& G, const LinkSlot& of_middle,
               int nu, bool up, bool down, double coefficient) const {
    const SidedStaplesDerivativeCall call{gauge_call(U_), middle,     G, of_middle, F.raw(), mu_, nu, up,
                                          down,           coefficient};
    dispatch_gauge(U_, [&]<class Layout, class Storage>() {
      launch_sided_staples_derivative<Layout, Storage>(call, inner_sites(U_));
    });
  }
  void reverse_lepage(LinkDerivative& F, const LinkSlot& g, const GaugeField& sided, bool up,
                      bool down) const {
    GaugeField of_sided = empty_like(U_);
    for (int nu = 0; nu < Nd; ++nu)
      if (nu != mu_) reverse(F, {sided.raw(), nu}, g, {of_sided.raw(), nu}, nu, up, down, c_.lepage);
    exchange(of_sided);
    for (int nu = 0; nu < Nd; ++nu)
      if (nu != mu_) reverse(F, {U_.raw(), mu_}, {of_sided.raw(), nu}, {F.raw(), mu_}, nu, up, down, 1.0);
  }
  static void exchange(GaugeField& field) {
    field.halo_is_stale();
    field.update_halo(1);
  }

  const GaugeField& U_;
  FatCoefficients c_;
  int mu_;
  GaugeField inner_, outer_;
  std::optional<GaugeField> up_, down_;
};
}  // namespace

GaugeField fat_links(const GaugeField& U, const FatCoefficients& coefficients) {
  GaugeField out = empty_like(U);
  for (int mu = 0; mu < Nd; ++mu) {
    stop_together(U.lattice().communicator());  // a direction takes as long as many hops
    FatDirection direction(U, coefficients, mu);
    direction.build();
    direction.add_fat(out);
  }
  out.halo_is_stale();
  return out;
}

void add_fat_links_derivative(LinkDerivative& of_U, const GaugeField& U, const FatCoefficients& coefficients,
                              const LinkDerivative& of_fat) {
  of_fat.update_halo(1);
  for (int mu = 0; mu < Nd; ++mu) {
    FatDirection direction(U, coefficients, mu);
    direction.build();
    direction.add_derivative(of_U, of_fat);
  }
  of_U.halo_is_stale();
}

GaugeField long_links(const GaugeField& W) {
  GaugeField out = GaugeField::like(W);
  const LongLinksCall call{gauge_call(W), out.raw()};
  dispatch_gauge(
      W, [&]<class Layout, class Storage>() { launch_long_links<Layout, Storage>(call, inner_sites(W)); });
  out.halo_is_stale();
  return out;
}

void add_long_links_derivative(LinkDerivative& of_W, const GaugeField& W, const LinkDerivative& of_long) {
  of_long.update_halo();
  const LongLinksDerivativeCall call{gauge_call(W), of_long.raw(), of_W.raw()};
  dispatch_gauge(W, [&]<class Layout, class Storage>() {
    launch_long_links_derivative<Layout, Storage>(call, inner_sites(W));
  });
  of_W.halo_is_stale();
}

GaugeField project_links_to_u3(const GaugeField& V) {
  GaugeField out = GaugeField::like(V);
  const U3ProjectionCall call{{V.raw(), V.tables()}, out.raw()};
  dispatch_gauge(
      V, [&]<class Layout, class Storage>() { launch_u3_projection<Layout, Storage>(call, inner_sites(V)); });
  out.halo_is_stale();
  return out;
}

HisqLinks::HisqLinks(const GaugeField& U)
    : U_{U},
      V_{fat_links(U_, fat7_coefficients())},
      W_{project_links_to_u3(V_)},
      X_{fat_links(W_, hisq_coefficients())},
      long_{long_links(W_)} {}

namespace {
void add_scaled(const RawField& out, const GaugeField& like, const RawField& in, double coefficient) {
  for (int mu = 0; mu < Nd; ++mu) {
    const LinkAxpyCall call{{out, mu}, {in, mu}, like.tables(), 1.0, coefficient};
    dispatch_gauge(like, [&]<class Layout, class Storage>() {
      launch_link_axpy<Layout, Storage>(call, inner_sites(like));
    });
  }
}
}  // namespace

GaugeField HisqLinks::fat(double epsilon) const {
  GaugeField out = X_;
  if (epsilon != 0) add_scaled(out.raw(), W_, W_.raw(), epsilon / 8);
  out.halo_is_stale();
  return out;
}

int64_t HisqLinks::add_derivative(LinkDerivative& of_U, const std::vector<FlavourDerivative>& flavours,
                                  double cut) const {
  LinkDerivative of_X(U_), of_W(U_);
  for (const FlavourDerivative& flavour : flavours) {
    TRELLIS_REQUIRE(flavour.of_fat != nullptr && flavour.of_long != nullptr,
                    "a HISQ flavour has derivatives with respect to fat and long links");
    add_scaled(of_X.raw(), U_, flavour.of_fat->raw(), 1.0);
    if (flavour.epsilon != 0) add_scaled(of_W.raw(), U_, flavour.of_fat->raw(), flavour.epsilon / 8);
    add_long_links_derivative(of_W, W_, *flavour.of_long);
  }
  of_X.halo_is_stale();
  add_fat_links_derivative(of_W, W_, hisq_coefficients(), of_X);
  const U3DerivativeCall call{{V_.raw(), V_.tables()}, W_.raw(), of_W.raw(), cut};
  ExactSum guarded;
  dispatch_gauge(V_, [&]<class Layout, class Storage>() {
    launch_u3_derivative<Layout, Storage>(call, inner_sites(V_), &guarded);
  });
  of_W.halo_is_stale();
  add_fat_links_derivative(of_U, U_, fat7_coefficients(), of_W);
  U_.lattice().communicator().sum(&guarded, 1);
  return int64_t(guarded.value());
}

}  // namespace trellis
