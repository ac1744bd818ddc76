#pragma once
/// These variants of the Wilson hop serve the ladder: they have the sums of
/// src/trellis/kernels/dirac/wilson_hop.hpp without ghosts, phases, coefficients and what follows the hop.
#include "trellis/kernels/dirac/wilson_hop.hpp"

namespace trellis::lab {

/// It has all rows of a link, converted and completed, for several uses of it.
template <class R>
struct ExpandedLink {
  ColorRow<R> rows[Nc];
  struct Source {
    const ColorRow<R>* rows;
    template <int i>
    TRELLIS_SITE_FN const ColorRow<R>& row() const {
      return rows[i];
    }
  };
  template <class Rows>
  TRELLIS_SITE_FN void expand(Rows U) {
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA { rows[i] = U.template row<i>(); });
  }
  TRELLIS_SITE_FN Source source() const { return {rows}; }
};

template <class Layout, class Storage, int LinkReals>
class GroupedHop {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  static constexpr int largest = 8;

  explicit GroupedHop(const WilsonHopCall& call)
      : stencil_{call.stencil.table, call.stencil.legs},
        links_here_{call.links_here},
        links_there_{call.links_there},
        in_{call.in},
        out_{call.out} {}

  /// Does several blocks of one right-hand side, leg by leg.
  TRELLIS_SITE_FN void blocks(const int32_t* list, int count, int slot) const {
    Spinor<Real> psi[largest];
    unroll<8>([&](auto leg) TRELLIS_INLINE_LAMBDA {
      for (int i = 0; i < count; ++i) {
        const Neighbour n = stencil_.neighbour(list[i], leg);
        if constexpr (leg % 2 == 0)
          add<leg>(psi[i], links_here_.rows(list[i], leg / 2), n, slot);
        else
          add<leg>(psi[i], links_there_.rows(n.index, leg / 2), n, slot);
      }
    });
    for (int i = 0; i < count; ++i) out_.store(list[i], slot, psi[i]);
  }

  /// Does several right-hand sides of one block, leg by leg; a link is expanded once for all of them.
  TRELLIS_SITE_FN void slots(int block, int slot, int count) const {
    Spinor<Real> psi[largest];
    unroll<8>([&](auto leg) TRELLIS_INLINE_LAMBDA {
      const Neighbour n = stencil_.neighbour(block, leg);
      ExpandedLink<Real> U;
      if constexpr (leg % 2 == 0)
        U.expand(links_here_.rows(block, leg / 2));
      else
        U.expand(links_there_.rows(n.index, leg / 2));
      for (int i = 0; i < count; ++i) add<leg>(psi[i], U.source(), n, slot + i);
    });
    for (int i = 0; i < count; ++i) out_.store(block, slot + i, psi[i]);
  }

  /// Does one block, one upper spin component after the other: it has 18 sums instead of 24, and reads each
  /// link twice. The order of the sums, and so the bits, differ.
  TRELLIS_SITE_FN void by_spin(int block, int slot) const {
    Spinor<Real> psi;
    zero(psi.s[2]);
    zero(psi.s[3]);
    unroll<2>([&](auto a) TRELLIS_INLINE_LAMBDA {
      zero(psi.s[a]);
      unroll<8>([&](auto leg) TRELLIS_INLINE_LAMBDA { add_spin<leg, a>(psi, block, slot); });
    });
    out_.store(block, slot, psi);
  }

 private:
  template <int leg, class Rows>
  TRELLIS_SITE_FN void add(Spinor<Real>& psi, const Rows& U, Neighbour n, int slot) const {
    constexpr int mu = leg / 2;
    constexpr Scalar sign = leg % 2 == 0 ? -1 : 1;
    HalfSpinor<Real> h;
    if constexpr (leg % 2 == 0) {
      h = projected_half<mu>(in_, n.index, slot, sign);
      if (n.crosses) stencil_.move_lanes(h, leg);
      h = multiply(U, h);
    } else {
      h = dagger_multiply<Real>(U, [&](auto c) TRELLIS_INLINE_LAMBDA {
        return in_.template projected_column<mu, c>(n.index, slot, sign);
      });
      if (n.crosses) stencil_.move_lanes(h, leg);
    }
    if constexpr (leg == 0)
      set_reconstructed<mu>(psi, h, Real(sign));
    else
      add_reconstructed<mu>(psi, h, Real(sign));
  }

  /// Adds what upper component a of a leg's half spinor gives to itself and to its partner below.
  template <int leg, int a>
  TRELLIS_SITE_FN void add_spin(Spinor<Real>& psi, int block, int slot) const {
    constexpr int mu = leg / 2, partner = (mu < 2) == (a == 0) ? 3 : 2;
    constexpr bool is_forward = leg % 2 == 0, has_i = mu % 2 == 0;
    constexpr bool flips = (mu == 1 && a == 0) || (mu == 2 && a == 1);
    const Real sign(Scalar((is_forward ? -1 : 1) * (flips ? -1 : 1)));
    const Neighbour n = stencil_.neighbour(block, leg);
    ColorVector<Real> v, w;
    unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
      const Complex<Real> upper = component(n.index, slot, a, c),
                          lower = component(n.index, slot, partner, c);
      v.c[c] = has_i ? add_signed_i(upper, sign, lower) : add_signed(upper, sign, lower);
    });
    if (is_forward && n.crosses) stencil_.move_lanes(v, leg);
    auto U = is_forward ? links_here_.rows(block, mu) : links_there_.rows(n.index, mu);
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const ColorRow<Real> row = U.template row<i>();
      if constexpr (is_forward) {
        w.c[i] = row * v;
      } else {
        unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA {
          if constexpr (i == 0)
            w.c[j] = conj_mul(row.c[j], v.c[0]);
          else
            conj_mul_add(w.c[j], row.c[j], v.c[i]);
        });
      }
    });
    if (!is_forward && n.crosses) stencil_.move_lanes(w, leg);
    const Real minus = -sign;
    unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
      psi.s[a].c[c] = psi.s[a].c[c] + w.c[c];
      psi.s[partner].c[c] = has_i ? add_signed_i(psi.s[partner].c[c], minus, w.c[c])
                                  : add_signed(psi.s[partner].c[c], sign, w.c[c]);
    });
  }
  TRELLIS_SITE_FN Complex<Real> component(int block, int slot, int spin, int colour) const {
    return {in_.array().component(block, slot, 6 * spin + 2 * colour, Real(1)),
            in_.array().component(block, slot, 6 * spin + 2 * colour + 1, Real(1))};
  }
  TRELLIS_SITE_FN static void zero(ColorVector<Real>& v) {
    unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA { v.c[c] = {Real(Scalar(0)), Real(Scalar(0))}; });
  }

  StencilView<Layout, Scalar> stencil_;
  LinkView<Layout, Storage, LinkReals> links_here_, links_there_;
  Spinors in_, out_;
};

}  // namespace trellis::lab
