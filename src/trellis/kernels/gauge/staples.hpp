#pragma once
/// Staples are the walks of three links from x to x+mu in the plane (mu, nu).
///
///   S+_nu = U_nu(x) U_mu(x+nu) U_nu(x+mu)^dagger,   S-_nu = U_nu(x-nu)^dagger U_mu(x-nu) U_nu(x-nu+mu).
///
/// The plaquettes that contain U_mu(x) are U_mu(x) S^dagger. A staple takes two products of 198 flop.
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// Returns S-, with 396 flop.
template <class View>
TRELLIS_SITE_FN auto lower_staple(const View& U, Position x, int mu, int nu) {
  const Position down = U.step(x, nu, -1);
  return dagger_mul(U.link(down, nu), U.link(down, mu)) * U.link(U.step(down, mu, 1), nu);
}

/// Returns S+, with 396 flop.
template <class View>
TRELLIS_SITE_FN auto upper_staple(const View& U, Position x, int mu, int nu) {
  return mul_dagger(U.link(x, nu) * U.link(U.step(x, nu, 1), mu), U.link(U.step(x, mu, 1), nu));
}

/// Adds up S+ and S- of one plane, with 810 flop.
template <class View>
TRELLIS_SITE_FN auto plane_staples(const View& U, Position x, int mu, int nu) {
  return upper_staple(U, x, mu, nu) + lower_staple(U, x, mu, nu);
}

inline constexpr double plane_staples_flops = 4 * 198 + 18;

/// Adds up all six, with 3 * 810 + 36 flop. GPUs have the text of a plane once: what it takes is all that
/// three blocks of threads have of a multiprocessor's registers.
template <class View>
TRELLIS_SITE_FN auto staple_sum(const View& U, Position x, int mu) {
  const int first = mu == 0 ? 1 : 0;
  if constexpr (View::Array::is_gpu) {
    ColorMatrix<typename View::Real> sum;
    TRELLIS_GPU_LOOP
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      const auto plane = plane_staples(U, x, mu, nu);
      sum = nu == first ? plane : sum + plane;
    }
    return sum;
  } else {
    auto sum = plane_staples(U, x, mu, first);
    for (int nu = first + 1; nu < 4; ++nu)
      if (nu != mu) sum = sum + plane_staples(U, x, mu, nu);
    return sum;
  }
}

inline constexpr double staple_sum_flops = 3 * plane_staples_flops + 36;

}  // namespace trellis
