#pragma once
/// The kernel finds how far two configurations are from each other: per site, the largest sum_ij |A_ij -
/// B_ij|^2 of a link (NaN if one is not finite). It takes 54 flop a link.
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

template <class Layout, class Storage>
class LinkDistance {
 public:
  using Array = SiteArray<Layout, Storage, 18>;
  using Real = typename Array::Real;
  LinkDistance(const RawField& a, const RawField& b) : a_{a}, b_{b} {}

  TRELLIS_SITE_FN Real operator()(int block) const {
    Real largest(0.0), finite_check(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      Real a[18], b[18], sum(0.0);
      a_.load(block, mu, a);
      b_.load(block, mu, b);
      for (int k = 0; k < 18; ++k) {
        const Real difference = a[k] - b[k];
        sum = fma(difference, difference, sum);
      }
      largest = maximum(largest, sum);
      finite_check = finite_check + (sum - sum);  // NaN stays
    }
    return largest + finite_check;
  }

 private:
  Array a_, b_;
};

/// It finds the largest distance of the inner blocks.
template <class Layout, class Storage>
double launch_link_distance(const RawField& a, const RawField& b, const SiteRange& inner_blocks);

}  // namespace trellis
