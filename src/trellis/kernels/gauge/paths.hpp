#pragma once
/// Ordered products of links along walks. A leg is a step to a neighbour: 2 mu to x+mu, 2 mu + 1 to x-mu,
/// where it contributes U_mu(x-mu)^dagger.
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

TRELLIS_SITE_FN int reversed_leg(int leg) { return leg ^ 1; }

/// Returns the product along N legs from x; N - 1 products of 198 flop.
template <class View, int N>
TRELLIS_SITE_FN auto walk(const View& U, Position x, const int (&legs)[N]) {
  ColorMatrix<typename View::Real> product;
  for (int k = 0; k < N; ++k) {
    const int mu = legs[k] / 2;
    if (legs[k] % 2 == 0) {
      const auto link = U.link(x, mu);
      product = k == 0 ? link : product * link;
      x = U.step(x, mu, 1);
    } else {
      x = U.step(x, mu, -1);
      const auto link = U.link(x, mu);
      product = k == 0 ? dagger(link) : mul_dagger(product, link);
    }
  }
  return product;
}

}  // namespace trellis
