#pragma once
/// This file draws random elements of SU(3) and its algebra (draws: doc/random_numbers.md).
#include "trellis/algebra/random.hpp"
#include "trellis/algebra/su3.hpp"

namespace trellis {

/// Draws by Haar's measure: Gram and Schmidt act on two rows of normal complex numbers, which are the draws
/// first_draw .. first_draw + 5.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> random_su3(const SiteRandom<R>& random, uint32_t first_draw) {
  ColorMatrix<R> U;
  for (int k = 0; k < 6; ++k) {
    const std::array<R, 2> g = random.gaussian_pair(first_draw + uint32_t(k));
    U.e[k / 3][k % 3] = {g[0], g[1]};
  }
  reunitarise(U);
  return U;
}

/// Returns sum_a p_a T_a with normal p_a of unit variance, which are the draws first_draw .. first_draw + 3.
template <class R>
TRELLIS_SITE_FN ColorMatrix<R> random_algebra_element(const SiteRandom<R>& random, uint32_t first_draw) {
  R p[8];
  for (int k = 0; k < 4; ++k) {
    const std::array<R, 2> g = random.gaussian_pair(first_draw + uint32_t(k));
    p[2 * k] = g[0];
    p[2 * k + 1] = g[1];
  }
  return algebra_element(p);
}

}  // namespace trellis
