#pragma once
/// Ordered products of links go along walks. A leg is a step to a neighbour: leg 2 mu leads to x+mu, leg 2 mu
/// + 1 to x-mu, where it contributes U_mu(x-mu)^dagger.
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

TRELLIS_SITE_FN int reversed_leg(int leg) { return leg ^ 1; }

/// Returns the product along N legs from x, by N - 1 products of 198 flop.
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

/// Returns the legs of a walk in one number, the first lowest: an array with indices of run time would lie in
/// memory on a GPU.
template <int N>
TRELLIS_SITE_FN unsigned packed_legs(const int (&legs)[N]) {
  static_assert(3 * N <= 32);
  unsigned packed = 0;
  for (int k = 0; k < N; ++k) packed |= unsigned(legs[k]) << (3 * k);
  return packed;
}

/// Does the same as walk(), for GPUs.
template <int N, class View>
TRELLIS_SITE_FN auto packed_walk(const View& U, Position x, unsigned legs) {
  using Matrix = ColorMatrix<typename View::Real>;
  const auto next_link = [&](bool& is_dagger) TRELLIS_INLINE_LAMBDA {
    const int mu = int(legs % 8) / 2;
    is_dagger = legs % 2 == 1;
    legs /= 8;
    if (is_dagger) x = U.step(x, mu, -1);
    const Matrix link = U.link(x, mu);
    if (!is_dagger) x = U.step(x, mu, 1);
    return link;
  };
  bool is_dagger = false;
  Matrix product = next_link(is_dagger);
  if (is_dagger) product = dagger(product);
  TRELLIS_GPU_LOOP
  for (int k = 1; k < N; ++k) {
    const Matrix link = next_link(is_dagger);
    product = is_dagger ? mul_dagger(product, link) : product * link;
  }
  return product;
}

}  // namespace trellis
