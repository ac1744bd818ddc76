#pragma once
/// Single links are updated with the Wilson action, S = -(beta/3) Re tr U V^dagger + (what does not contain
/// U), V the staple sum. SU(2) subgroups come in the order (0,1), (0,2), (1,2) (N. Cabibbo and E. Marinari
/// 1982).
///
/// With W = U V^dagger and its SU(2) part k n (k >= 0, n in SU(2)) in a subgroup, U -> g U changes the action
/// by that of tr(g n): h = g n has the density sqrt(1 - h0^2) exp(alpha h0), alpha = 2 beta k / 3, with its
/// direction uniform. Over-relaxation takes g = n^dagger n^dagger, which keeps the action.
#include <type_traits>

#include "trellis/algebra/su3_random.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/kernels/gauge/staples.hpp"

namespace trellis {

/// The numbers are those of an updated link. The heat bath takes W, three subgroups (k n and quaternions 60,
/// two su2 products 168, an SU(2) element with one attempt 218: two sines and cosines, two logarithms).
/// Further attempts and the integers of random numbers are not counted. A pass over half of the sites reads
/// the bytes of the whole field.
inline constexpr double su2_draw_flops = 2 * sin_cos_flops + 2 * logarithm_flops + 26;
inline constexpr KernelCost heatbath_cost{staple_sum_flops + 198 + 3 * (60 + 168 + su2_draw_flops),
                                          2 * 72 * 8 + 18 * 8};
inline constexpr KernelCost overrelaxation_cost{staple_sum_flops + 198 + 3 * (40 + 168), 2 * 72 * 8 + 18 * 8};

struct LinkUpdateCall {
  GaugeCall gauge;
  int mu = 0;
};

struct HeatbathCall {
  LinkUpdateCall update;
  const int64_t* sites = nullptr;  ///< it has [block][lane] global index
  double beta = 0;
  RandomKey key;
  uint32_t trajectory = 0;
  uint32_t sweep = 0;  ///< it is below 4096
};

/// Returns a b, with a0 + i a.sigma for each.
template <class R>
TRELLIS_SITE_FN Quaternion<R> operator*(const Quaternion<R>& a, const Quaternion<R>& b) {
  Quaternion<R> c;
  c.a[0] = fnma(a.a[3], b.a[3], fnma(a.a[2], b.a[2], fnma(a.a[1], b.a[1], a.a[0] * b.a[0])));
  for (int i = 1; i < 4; ++i) {
    const int j = i % 3 + 1, k = j % 3 + 1;
    c.a[i] = fma(a.a[k], b.a[j], fnma(a.a[j], b.a[k], fma(a.a[i], b.a[0], a.a[0] * b.a[i])));
  }
  return c;
}
template <class R>
TRELLIS_SITE_FN Quaternion<R> conj(const Quaternion<R>& a) {
  return {{a.a[0], -a.a[1], -a.a[2], -a.a[3]}};
}

/// Draws 1 - h0 for h0 in [-1, 1] with the density sqrt(1 - h0^2) exp(alpha h0), exactly, for every alpha >=
/// 0.
///
/// From alpha = 0.8 on, A. D. Kennedy and B. J. Pendleton 1985: delta = -(log r1 + cos^2(2 pi r2) log r3) /
/// alpha has the density sqrt(delta) exp(-alpha delta); it is accepted if r4^2 <= 1 - delta / 2. Below (where
/// that would accept rarely): h0 = sqrt(r1) cos(2 pi r2) has the density sqrt(1 - h0^2); it is accepted if
/// log r3 <= alpha (h0 - 1). Attempt a uses the draws first_draw + 2 a and + 2 a + 1; a lane that has
/// accepted keeps its number.
template <class R>
TRELLIS_SITE_FN R draw_su2_component(const SiteRandom<R>& random, uint32_t first_draw, const R& alpha) {
  const auto is_small = less(alpha, R(0.8));
  const R inverse = R(1.0) / select(is_small, R(1.0), alpha);
  R delta(0.0);
  MaskOf<R> is_open = less_equal(R(0.0), alpha);
  for (uint32_t attempt = 0; attempt < 32760 && any(is_open); ++attempt) {
    const std::array<R, 2> first = random.uniform_pair(first_draw + 2 * attempt);
    const std::array<R, 2> second = random.uniform_pair(first_draw + 2 * attempt + 1);
    const R cosine = sin_cos_2pi(first[1]).cos, log_1 = logarithm(first[0]), log_3 = logarithm(second[0]);
    const R pendleton = -(inverse * fma(cosine * cosine, log_3, log_1));
    const R disc = fnma(square_root(first[0]), cosine, R(1.0));
    const auto accept_pendleton = less_equal(second[1] * second[1], fnma(R(0.5), pendleton, R(1.0)));
    const auto accept_disc = less_equal(log_3, -(alpha * disc));
    const auto is_accepted =
        mask_or(mask_and(is_small, accept_disc), mask_and(mask_not(is_small), accept_pendleton));
    delta = select(mask_and(is_open, is_accepted), select(is_small, disc, pendleton), delta);
    is_open = mask_and(is_open, mask_not(is_accepted));
  }
  return delta;
}

/// Draws an SU(2) element with the density exp(alpha h0) times Haar's measure; draw n = 0 gives the
/// direction.
template <class R>
TRELLIS_SITE_FN Quaternion<R> draw_su2(const SiteRandom<R>& random, uint32_t first_draw, const R& alpha) {
  const R delta = draw_su2_component(random, first_draw + 1, alpha);
  const std::array<R, 2> u = random.uniform_pair(first_draw);
  const R length = square_root(maximum(delta * (R(2.0) - delta), R(0.0)));
  const R cosine = fnma(R(2.0), u[0], R(1.0));
  const R across = length * square_root(maximum(fnma(cosine, cosine, R(1.0)), R(0.0)));
  const SinCos<R> angle = sin_cos_2pi(u[1]);
  return {{R(1.0) - delta, across * angle.cos, across * angle.sin, length * cosine}};
}

/// Visits the three subgroups once: link <- g3 g2 g1 link. product is link V^dagger. Subgroup k draws from
/// first_draw + (k << 16) on.
template <class R>
TRELLIS_SITE_FN void heatbath_link(const SiteRandom<R>& random, uint32_t first_draw, double beta,
                                   ColorMatrix<R>& link, ColorMatrix<R>& product) {
  const auto visit = [&](int k) TRELLIS_INLINE_LAMBDA {
    const int p = su2_first_row(k), q = su2_second_row(k);
    const Quaternion<R> a = su2_part(product, p, q);
    const R length = length_of(a);
    const Quaternion<R> h = draw_su2(random, first_draw + (uint32_t(k) << 16), R(2.0 / 3.0 * beta) * length);
    const Quaternion<R> g = h * conj(normalised(a, length));
    multiply_su2(g, p, q, link);
    if (k < 2) multiply_su2(g, p, q, product);
  };
  if constexpr (std::is_same_v<R,
                               double>) {  // a GPU has matrices in registers where every index is a constant
    unroll<3>(visit);
  } else {
    for (int k = 0; k < 3; ++k) visit(k);
  }
}

template <class R>
TRELLIS_SITE_FN void overrelax_link(ColorMatrix<R>& link, ColorMatrix<R>& product) {
  for (int k = 0; k < 3; ++k) {
    const int p = su2_first_row(k), q = su2_second_row(k);
    const Quaternion<R> a = su2_part(product, p, q);
    const Quaternion<R> back = conj(normalised(a, length_of(a)));
    const Quaternion<R> g = back * back;
    multiply_su2(g, p, q, link);
    if (k < 2) multiply_su2(g, p, q, product);
  }
}

/// Draws new links U_mu of the blocks of one parity.
template <class Layout, class Storage>
class HeatbathUpdate {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit HeatbathUpdate(const HeatbathCall& call)
      : call_{call}, U_{call.update.gauge.links, call.update.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const int mu = call_.update.mu;
    const SiteRandom<Real> random(call_.key, RandomPurpose::heatbath, call_.trajectory,
                                  load_integers<Real>(call_.sites + size_t(block) * Gauge::W));
    const auto staples = staple_sum(U_, U_.at(block), mu);
    ColorMatrix<Real> link = U_.link(U_.at(block), mu);
    ColorMatrix<Real> product = mul_dagger(link, staples);
    heatbath_link(random, call_.sweep << 20 | uint32_t(mu) << 18, call_.beta, link, product);
    U_.store(block, mu, link);
  }

 private:
  HeatbathCall call_;
  Gauge U_;
};

template <class Layout, class Storage>
class OverrelaxationUpdate {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit OverrelaxationUpdate(const LinkUpdateCall& call)
      : mu_{call.mu}, U_{call.gauge.links, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const auto staples = staple_sum(U_, U_.at(block), mu_);
    ColorMatrix<Real> link = U_.link(U_.at(block), mu_);
    ColorMatrix<Real> product = mul_dagger(link, staples);
    overrelax_link(link, product);
    U_.store(block, mu_, link);
  }

 private:
  int mu_;
  Gauge U_;
};

template <class Layout, class Storage>
void launch_heatbath(const HeatbathCall& call, const SiteRange& blocks_of_one_parity);
template <class Layout, class Storage>
void launch_overrelaxation(const LinkUpdateCall& call, const SiteRange& blocks_of_one_parity);

}  // namespace trellis
