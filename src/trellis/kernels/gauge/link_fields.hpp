#pragma once
/// Links are independent here: random starts and the projection of every link back to SU(3).
#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/algebra/su3_random.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

struct RandomLinksCall {
  GaugeCall gauge;
  const int64_t* sites = nullptr;  ///< it has [block][lane] global index
  RandomKey key;
  uint32_t trajectory = 0;
  bool is_hot = true;  ///< it takes Haar's measure; else exp(size sum_a p_a T_a), p_a normal
  double size = 0;
};

template <class Layout, class Storage>
class RandomLinks {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit RandomLinks(const RandomLinksCall& call) : call_{call}, U_{call.gauge.links, call.gauge.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const SiteRandom<Real> random(
        call_.key, call_.is_hot ? RandomPurpose::hot_start : RandomPurpose::weak_start, call_.trajectory,
        load_integers<Real>(call_.sites + size_t(block) * Gauge::W));
    for (uint32_t mu = 0; mu < 4; ++mu)
      U_.store(block, int(mu),
               call_.is_hot ? random_su3(random, 8 * mu)
                            : exponential(Real(call_.size) * random_algebra_element(random, 4 * mu)));
  }

 private:
  RandomLinksCall call_;
  Gauge U_;
};

/// Makes all links of a site 1.
template <class Layout, class Storage>
class UnitLinks {
 public:
  using Array = SiteArray<Layout, Storage, 18>;
  using Real = typename Array::Real;
  explicit UnitLinks(const RawField& links) : links_{links} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    Real link[18];
    for (int k = 0; k < 18; ++k) link[k] = Real(k % 8 == 0 ? 1.0 : 0.0);
    for (int mu = 0; mu < 4; ++mu) links_.store(block, mu, link);
  }

 private:
  Array links_;
};

/// Does Gram-Schmidt on all links, about 4 * 136 flop a site.
template <class Layout, class Storage>
class ReunitariseLinks {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  explicit ReunitariseLinks(const GaugeCall& call) : U_{call.links, call.tables} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) {
      auto link = U_.link(U_.at(block), mu);
      reunitarise(link);
      U_.store(block, mu, link);
    }
  }

 private:
  Gauge U_;
};

inline constexpr KernelCost reunitarise_cost{4 * 136, 2 * 72 * 8};

template <class Layout, class Storage>
void launch_random_links(const RandomLinksCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_unit_links(const RawField& links, const SiteRange& blocks);
template <class Layout, class Storage>
void launch_reunitarise(const GaugeCall& call, const SiteRange& inner_blocks);

}  // namespace trellis
