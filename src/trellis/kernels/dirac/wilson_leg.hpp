#pragma once
/// The half spinors of one leg of the Wilson hop, in the form that moves between lanes and ranks: what the
/// hop and the packing of its halo share, so that both round alike.
#include "trellis/view/structured.hpp"

namespace trellis {

/// The upper components of (1 + sign gamma_mu) psi(y).
template <int mu, class Layout, class Storage>
TRELLIS_SITE_FN auto projected_half(const SpinorView<Layout, Storage>& in, int block, int slot,
                                    typename SpinorView<Layout, Storage>::Scalar sign) {
  using Real = typename SpinorView<Layout, Storage>::Real;
  HalfSpinor<Real> h;
  const Real unit = in.projection_unit(block, slot);
  unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
    const HalfColumn<Real> p = in.template projected_column<mu, c>(block, slot, sign, unit);
    h.s[0].c[c] = p.s[0];
    h.s[1].c[c] = p.s[1];
  });
  return h;
}

/// U_mu(y)^dagger times the upper components of (1 + sign gamma_mu) psi(y).
template <int mu, class Links, class Layout, class Storage>
TRELLIS_SITE_FN auto backward_half(const Links& links, const SpinorView<Layout, Storage>& in, int block,
                                   int slot, typename SpinorView<Layout, Storage>::Scalar sign) {
  using Real = typename SpinorView<Layout, Storage>::Real;
  const Real unit = in.projection_unit(block, slot);
  return dagger_multiply<Real>(links.rows(block, mu), [&](auto c) TRELLIS_INLINE_LAMBDA {
    return in.template projected_column<mu, c>(block, slot, sign, unit);
  });
}

}  // namespace trellis
