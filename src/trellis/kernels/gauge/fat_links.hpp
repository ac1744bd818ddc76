#pragma once
/// This file has the pieces of fat and long links, and their derivatives. A sided staple carries a field Q of
/// links in direction mu, which need not be the links themselves:
///
///   up   U_nu(x) Q(x+nu) U_nu(x+mu)^dagger            down  U_nu(x-nu)^dagger Q(x-nu) U_nu(x-nu+mu)
///
/// Fat links are sums of staples of staples (K. Orginos, D. Toussaint and R. Sugar, hep-lat/9903032).
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// It counts per site, for both sides; the derivative forms the one of Q and the one of U_nu.
inline constexpr KernelCost sided_staples_cost{4 * 198 + 36, 4 * 144};
inline constexpr KernelCost sided_staples_derivative_cost{12 * 198 + 72, 7 * 144};
inline constexpr KernelCost long_links_cost{4 * 2 * 198, 2 * 576};
inline constexpr KernelCost long_links_derivative_cost{4 * (6 * 198 + 54), 4 * 576};

/// It is one direction of a field of links: slot 0..3.
struct LinkSlot {
  RawField field;
  int slot = 0;
};

struct SidedStaplesCall {
  GaugeCall links;
  LinkSlot middle;  ///< it is Q
  LinkSlot out;     ///< it gets out += coefficient (sides)
  int mu = 0, nu = 1;
  bool up = true, down = true;
  double coefficient = 1;
};

template <class Layout, class Storage>
class SidedStaples {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit SidedStaples(const SidedStaplesCall& call)
      : call_{call},
        U_{call.links.links, call.links.tables},
        Q_{call.middle.field, call.links.tables},
        out_{call.out.field, call.links.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    const int mu = call_.mu, nu = call_.nu, q = call_.middle.slot;
    ColorMatrix<Real> sum = out_.link(x, call_.out.slot);
    const Real c(call_.coefficient);
    if (call_.up) {
      const auto staple =
          mul_dagger(U_.link(x, nu) * Q_.link(U_.step(x, nu, 1), q), U_.link(U_.step(x, mu, 1), nu));
      sum = sum + c * staple;
    }
    if (call_.down) {
      const Position below = U_.step(x, nu, -1);
      const auto staple =
          dagger_mul(U_.link(below, nu), Q_.link(below, q)) * U_.link(U_.step(below, mu, 1), nu);
      sum = sum + c * staple;
    }
    out_.store(block, call_.out.slot, sum);
  }

 private:
  SidedStaplesCall call_;
  Gauge U_, Q_, out_;
};

/// With delta S = Re tr(G delta staples) these are the derivatives with respect to Q and to U_nu.
///   up:    F_Q(y) += U_nu(y-nu+mu)^dagger G(y-nu) U_nu(y-nu)
///          F_nu(z) += Q(z+nu) U_nu(z+mu)^dagger G(z) + (G(w) U_nu(w) Q(w+nu))^dagger,   w = z - mu
///   down:  F_Q(y) += U_nu(y+mu) G(y+nu) U_nu(y)^dagger
///          F_nu(z) += (Q(z) U_nu(z+mu) G(z+nu))^dagger + G(w+nu) U_nu(w)^dagger Q(w)
struct SidedStaplesDerivativeCall {
  GaugeCall links;
  LinkSlot middle;      ///< it is Q
  LinkSlot derivative;  ///< it is G
  LinkSlot of_middle;   ///< it is F_Q
  RawField of_links;    ///< it is F; slot nu
  int mu = 0, nu = 1;
  bool up = true, down = true;
  double coefficient = 1;
};

template <class Layout, class Storage>
class SidedStaplesDerivative {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  explicit SidedStaplesDerivative(const SidedStaplesDerivativeCall& call)
      : call_{call},
        U_{call.links.links, call.links.tables},
        Q_{call.middle.field, call.links.tables},
        G_{call.derivative.field, call.links.tables},
        of_middle_{call.of_middle.field, call.links.tables},
        of_links_{call.of_links, call.links.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position z = U_.at(block);
    const int mu = call_.mu, nu = call_.nu, q = call_.middle.slot, g = call_.derivative.slot;
    const Position ahead = U_.step(z, mu, 1), above = U_.step(z, nu, 1), w = U_.step(z, mu, -1);
    const Position w_above = U_.step(w, nu, 1);
    const Real c(call_.coefficient);
    Matrix of_middle = of_middle_.link(z, call_.of_middle.slot);
    Matrix of_link = zero_matrix<Real>();
    const Matrix here = U_.link(z, nu), side = U_.link(ahead, nu), behind = U_.link(w, nu);
    if (call_.up) {
      const Position below = U_.step(z, nu, -1);
      const Matrix f = dagger_mul(U_.link(U_.step(below, mu, 1), nu), G_.link(below, g)) * U_.link(below, nu);
      of_middle = of_middle + c * f;
      of_link = of_link + mul_dagger(Q_.link(above, q), side) * G_.link(z, g) +
                dagger(G_.link(w, g) * behind * Q_.link(w_above, q));
    }
    if (call_.down) {
      const Matrix G_above = G_.link(above, g);
      const Matrix f = mul_dagger(side * G_above, here);
      of_middle = of_middle + c * f;
      of_link = of_link + dagger(Q_.link(z, q) * side * G_above) +
                mul_dagger(G_.link(w_above, g), behind) * Q_.link(w, q);
    }
    of_middle_.store(block, call_.of_middle.slot, of_middle);
    of_links_.store(block, nu, of_links_.link(z, nu) + c * of_link);
  }

 private:
  SidedStaplesDerivativeCall call_;
  Gauge U_, Q_, G_, of_middle_, of_links_;
};

/// The call is out[slot] = keep out[slot] + coefficient in[slot].
struct LinkAxpyCall {
  LinkSlot out, in;
  ExtendedTables tables;
  double keep = 1, coefficient = 1;
};
template <class Layout, class Storage>
class LinkAxpy {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit LinkAxpy(const LinkAxpyCall& call)
      : call_{call}, in_{call.in.field, call.tables}, out_{call.out.field, call.tables} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = in_.at(block);
    ColorMatrix<Real> r = Real(call_.coefficient) * in_.link(x, call_.in.slot);
    if (call_.keep != 0) r = r + Real(call_.keep) * out_.link(x, call_.out.slot);
    out_.store(block, call_.out.slot, r);
  }

 private:
  LinkAxpyCall call_;
  Gauge in_, out_;
};

/// The call is N_mu(x) = W_mu(x) W_mu(x+mu) W_mu(x+2mu).
struct LongLinksCall {
  GaugeCall links;
  RawField out;
};
template <class Layout, class Storage>
class LongLinks {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  explicit LongLinks(const LongLinksCall& call)
      : W_{call.links.links, call.links.tables}, out_{call.out, call.links.tables} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = W_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      const Position y = W_.step(x, mu, 1);
      out_.store(block, mu, W_.link(x, mu) * W_.link(y, mu) * W_.link(W_.step(y, mu, 1), mu));
    }
  }

 private:
  Gauge W_, out_;
};

/// The call is F(x) += W(x+mu) W(x+2mu) G(x) + W(x+mu) G(x-mu) W(x-mu) + G(x-2mu) W(x-2mu) W(x-mu).
struct LongLinksDerivativeCall {
  GaugeCall links;
  RawField derivative, out;  ///< they are G and F
};
template <class Layout, class Storage>
class LongLinksDerivative {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  explicit LongLinksDerivative(const LongLinksDerivativeCall& call)
      : W_{call.links.links, call.links.tables},
        G_{call.derivative, call.links.tables},
        out_{call.out, call.links.tables} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = W_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      const Position y = W_.step(x, mu, 1), w = W_.step(x, mu, -1), v = W_.step(w, mu, -1);
      const auto ahead = W_.link(y, mu), behind = W_.link(w, mu);
      const auto first = ahead * W_.link(W_.step(y, mu, 1), mu) * G_.link(x, mu);
      const auto second = ahead * G_.link(w, mu) * behind;
      const auto third = G_.link(v, mu) * W_.link(v, mu) * behind;
      out_.store(block, mu, out_.link(x, mu) + first + second + third);
    }
  }

 private:
  Gauge W_, G_, out_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_sided_staples(const SidedStaplesCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_sided_staples_derivative(const SidedStaplesDerivativeCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_link_axpy(const LinkAxpyCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_long_links(const LongLinksCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_long_links_derivative(const LongLinksDerivativeCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
