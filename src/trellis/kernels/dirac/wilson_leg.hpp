#pragma once
/// The half spinors of one leg of the Wilson hop have the form that moves between lanes and ranks: the hop
/// and the packing of its halo share them, so that both round alike.
#include "trellis/view/integer_products.hpp"

namespace trellis {

/// Returns upper components of (1 + sign gamma_mu) psi(y): HalfSpinor, or IntegerHalfSpinor (fixed point).
template <int mu, class Layout, class Storage>
TRELLIS_SITE_FN auto projected_half(const SpinorView<Layout, Storage>& in, int block, int slot,
                                    typename SpinorView<Layout, Storage>::Scalar sign) {
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  if constexpr (Spinors::Array::is_half && Spinors::Array::is_gpu) {
    return projected_signed_integers<mu>(in, block, slot, sign > 0 ? 1 : -1);
  } else if constexpr (Spinors::Array::is_half) {
    return sign > 0 ? projected_integers<mu, true>(in, block, slot)
                    : projected_integers<mu, false>(in, block, slot);
  } else {
    HalfSpinor<Real> h;
    unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
      const HalfColumn<Real> p = in.template projected_column<mu, c>(block, slot, sign);
      h.s[0].c[c] = p.s[0];
      h.s[1].c[c] = p.s[1];
    });
    return h;
  }
}

/// Returns U h in fixed point, with 132 flop as everybody counts.
template <class R, class Pair, class Rows>
TRELLIS_SITE_FN HalfSpinor<R> multiply(Rows U, const IntegerHalfSpinor<R, Pair>& h) {
  ProductForms<Pair> forms[2][Nc];
  unroll<2 * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    forms[k / Nc][k % Nc] = product_forms<false>(h.s[k / Nc].c[k % Nc]);
  });
  const R unit = U.unit() * h.unit;
  HalfSpinor<R> r;
  unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
    const ColorPairs<Pair> row = U.template row<i>();
    r.s[0].c[i] = to_complex(unit, row_product(row, forms[0]));
    r.s[1].c[i] = to_complex(unit, row_product(row, forms[1]));
  });
  return r;
}
/// Returns U^dagger h in fixed point, with 132 flop.
template <class R, class Pair, class Rows>
TRELLIS_SITE_FN HalfSpinor<R> dagger_multiply(Rows U, const IntegerHalfSpinor<R, Pair>& h) {
  ComplexSum<Pair> sum[2][Nc];
  unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
    const ColorPairs<Pair> row = U.template row<j>();
    add_row_dagger<j>(sum[0], row, product_forms<true>(h.s[0].c[j]));
    add_row_dagger<j>(sum[1], row, product_forms<true>(h.s[1].c[j]));
  });
  const R unit = U.unit() * h.unit;
  HalfSpinor<R> r;
  unroll<2 * Nc>(
      [&](auto k) TRELLIS_INLINE_LAMBDA { r.s[k / Nc].c[k % Nc] = to_complex(unit, sum[k / Nc][k % Nc]); });
  return r;
}

/// Returns U_mu(y)^dagger times the upper components of (1 + sign gamma_mu) psi(y).
template <int mu, class Links, class Layout, class Storage>
TRELLIS_SITE_FN auto backward_half(const Links& links, const SpinorView<Layout, Storage>& in, int block,
                                   int slot, typename SpinorView<Layout, Storage>::Scalar sign) {
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  if constexpr (Spinors::Array::is_half) {
    return dagger_multiply(links.rows(block, mu), projected_half<mu>(in, block, slot, sign));
  } else {
    return dagger_multiply<Real>(links.rows(block, mu), [&](auto c) TRELLIS_INLINE_LAMBDA {
      return in.template projected_column<mu, c>(block, slot, sign);
    });
  }
}

/// Returns a projected half spinor in fixed point as reals: six pairs of integers and the unit.
template <class R>
struct PackedHalfSpinor {
  R pairs[2][Nc];
  R unit;
};

/// Projected half spinors of forward legs, which are multiplied where they arrive, lie in the ghosts; of
/// backward legs products do.
template <class Layout, class Storage>
struct WilsonGhosts {
  using Scalar = typename StorageTraits<Storage>::compute;
  using Forward = HalfSpinorView<Layout, Scalar>;
  using Backward = HalfSpinorView<Layout, Scalar>;
};
template <class Layout>
struct WilsonGhosts<Layout, Half> {
  using Forward = ObjectView<Layout, float, PackedHalfSpinor, 7>;
  using Backward = HalfSpinorView<Layout, float>;
};

template <class R>
TRELLIS_SITE_FN const HalfSpinor<R>& to_ghost(const HalfSpinor<R>& h) {
  return h;
}
template <class R, class Pair>
TRELLIS_SITE_FN PackedHalfSpinor<R> to_ghost(const IntegerHalfSpinor<R, Pair>& h) {
  PackedHalfSpinor<R> g;
  unroll<2 * Nc>(
      [&](auto k) TRELLIS_INLINE_LAMBDA { g.pairs[k / Nc][k % Nc] = bits_as_float(h.s[k / Nc].c[k % Nc]); });
  g.unit = h.unit;
  return g;
}
template <class R>
TRELLIS_SITE_FN void from_ghost(HalfSpinor<R>& h, const HalfSpinor<R>& ghost) {
  h = ghost;
}
template <class R, class Pair>
TRELLIS_SITE_FN void from_ghost(IntegerHalfSpinor<R, Pair>& h, const PackedHalfSpinor<R>& ghost) {
  unroll<2 * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    h.s[k / Nc].c[k % Nc] = float_as_bits(ghost.pairs[k / Nc][k % Nc]);
  });
  h.unit = ghost.unit;
}

}  // namespace trellis
