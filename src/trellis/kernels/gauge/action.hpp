#pragma once
/// This file has the staples and the force of the action with 1x1 and 2x1 loops (doc/conventions.md, Gauge
/// action).
///
///   S = beta sum_x [ c0 sum_{mu<nu} (1 - Re tr P / 3) + c1 sum_{mu!=nu} (1 - Re tr R / 3) ]
///
/// depends on one link as -(beta/3) Re tr U_mu(x) A^dagger with
///
///   A = c0 (6 walks of three links x -> x+mu) + c1 (18 walks of five links), hence
///   F_mu(x) = sum_a T_a dS/dt (e^{t T_a} U) = (beta/6) TA( U_mu(x) A^dagger ).
#include "trellis/kernels/gauge/paths.hpp"
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// Sums the 18 walks of five links from x to x+mu: 72 products.
template <class View>
TRELLIS_SITE_FN auto rectangle_staple_sum(const View& U, Position x, int mu) {
  auto sum = zero_matrix<typename View::Real>();
  const int m = 2 * mu, back = 2 * mu + 1;
  TRELLIS_GPU_LOOP
  for (int n = 0; n < 8; ++n) {
    if (n / 2 == mu) continue;
    const int r = reversed_leg(n);
    const int legs[3][5] = {{n, m, m, r, back},  // long in mu: U_mu(x) is its first half
                            {back, n, m, m, r},  // here it is its second half
                            {n, n, m, r, r}};    // these are long in the other direction
    if constexpr (View::Array::is_gpu) {
      const unsigned packed[3] = {packed_legs(legs[0]), packed_legs(legs[1]), packed_legs(legs[2])};
      TRELLIS_GPU_LOOP
      for (int kind = 0; kind < 3; ++kind)
        sum = sum + packed_walk<5>(U, x, kind == 0 ? packed[0] : kind == 1 ? packed[1] : packed[2]);
    } else {
      for (int kind = 0; kind < 3; ++kind) sum = sum + walk(U, x, legs[kind]);
    }
  }
  return sum;
}

/// Says which loops a kernel knows: those of plaquettes alone take fewer registers.
enum class ActionLoops { plaquettes, with_rectangles };

/// Returns A_mu(x) = c0 staples + c1 rectangle staples.
template <ActionLoops loops = ActionLoops::with_rectangles, class View>
TRELLIS_SITE_FN auto action_staples(const View& U, Position x, int mu, double c0, double c1) {
  using R = typename View::Real;
  auto sum = R(c0) * staple_sum(U, x, mu);
  if constexpr (loops == ActionLoops::with_rectangles)
    if (c1 != 0) sum = sum + R(c1) * rectangle_staple_sum(U, x, mu);
  return sum;
}

/// The numbers are those of a site. The bytes are all links in, and 32 components in and out.
inline constexpr KernelCost plaquette_force_cost{4 * (staple_sum_flops + 18 + 198 + 30), (72 + 64) * 8};

struct GaugeForceCall {
  GaugeCall gauge;
  RawField force;  ///< it has 8 components per link, by block; slot = mu
  double c0 = 1, c1 = 0;
  double coefficient = 0;  ///< it is beta / 6 (times a step, a sign)
};

/// It adds to force_a coefficient (components of TA(U A^dagger)).
template <class Layout, class Storage, ActionLoops known = ActionLoops::with_rectangles>
class GaugeForce {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit GaugeForce(const GaugeForceCall& call)
      : call_{call}, U_{call.gauge.links, call.gauge.tables}, force_{call.force} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) (*this)(block, mu);
  }
  /// Does one direction, which is what a thread of a GPU takes.
  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const Position x = U_.at(block);
    const auto staples = action_staples<known>(U_, x, mu, call_.c0, call_.c1);
    Real p[8], f[8];
    algebra_components(mul_dagger(U_.link(x, mu), staples), p);
    force_.load(block, mu, f);
    for (int a = 0; a < 8; ++a) f[a] = fma(Real(call_.coefficient), p[a], f[a]);
    force_.store(block, mu, f);
  }

 private:
  GaugeForceCall call_;
  Gauge U_;
  SiteArray<Layout, Storage, 8> force_;
};

template <class Layout, class Storage>
void launch_gauge_force(const GaugeForceCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
