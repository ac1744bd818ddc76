#pragma once
/// The kernel does the two hops of colour vectors along one direction, without boundary phases:
///
///   out(x) = a x(x) + b [ U_mu(x) psi(x+mu) + U_mu(x-mu)^dagger psi(x-mu) ]
///
/// Done twice it makes a hop over two sites (measure/two_hop_smearing.hpp). A site reads two links and two
/// colour vectors; it takes two products of 66 flop, two sums of 6 and the combination, 162 flop.
#include "trellis/kernels/dirac/staggered_leg.hpp"
#include "trellis/view/hop_view.hpp"

namespace trellis {

struct SiteRange;

struct DirectionHopCall {
  RawHopStencil stencil;             ///< it belongs to the parity of `out`
  RawField links_here, links_there;  ///< they have the parity of `out` and of `in`
  RawField in, out;
  RawField x;          ///< it has the parity of `out`; used when has_x is true
  RawField ghosts[2];  ///< they are psi forward, U^dagger psi backward
  double x_scalar = 0, hop_scalar = 1;
  bool has_x = false;
  int direction = 0, slots = 1;
};

template <class Layout, class Storage>
class DirectionHop {
 public:
  using Vectors = ColorVectorView<Layout, Storage>;
  using Real = typename Vectors::Real;
  using Vector = ColorVector<Real>;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit DirectionHop(const DirectionHopCall& call)
      : stencil_{call.stencil},
        links_{call.links_here, call.links_there},
        in_{call.in},
        out_{call.out},
        x_{call.x},
        ghosts_{Vectors(call.ghosts[0]), Vectors(call.ghosts[1])},
        a_{Scalar(call.x_scalar)},
        b_{Scalar(call.hop_scalar)},
        has_x_{call.has_x},
        mu_{call.direction} {}

  /// Computes a site. The sum begins with zero, as that of a hop in all directions: a zero has the same sign.
  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    const Vector forward = forward_leg(block, slot), backward = backward_leg(block, slot);
    Vector result;
    const Real a(a_), b(b_);
    unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
      result.c[c] = {b * (Real(0) + forward.c[c].re + backward.c[c].re),
                     b * (Real(0) + forward.c[c].im + backward.c[c].im)};
    });
    if (has_x_) {
      const Vector x = x_.load(block, slot);
      unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
        result.c[c] = {fma(a, x.c[c].re, result.c[c].re), fma(a, x.c[c].im, result.c[c].im)};
      });
    }
    out_.store(block, slot, result);
  }

 private:
  TRELLIS_SITE_FN Vector forward_leg(int block, int slot) const {
    const int leg = 2 * mu_;
    const HopNeighbour n = stencil_.neighbour(block, leg);
    Vector v;
    if (n.is_ghost) {
      v = ghosts_[0].load(n.index, slot);
    } else {
      v = in_.load(n.index, slot);
      stencil_.template move_lanes<Real>(v, leg, n.moves);
    }
    auto rows = links_.forward(block, mu_);
    Vector h;
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA { h.c[i] = rows.template row<i>() * v; });
    return h;
  }
  TRELLIS_SITE_FN Vector backward_leg(int block, int slot) const {
    const int leg = 2 * mu_ + 1;
    const HopNeighbour n = stencil_.neighbour(block, leg);
    if (n.is_ghost) return ghosts_[1].load(n.index, slot);
    const Vector v[1] = {in_.load(n.index, slot)};
    Vector h[1];
    rows_dagger_multiply(h, links_.backward(block, n.index, mu_), v);
    stencil_.template move_lanes<Real>(h[0], leg, n.moves);
    return h[0];
  }

  HopStencilView<Layout> stencil_;
  HopLegLinks<Layout, Storage, 18> links_;
  Vectors in_, out_, x_, ghosts_[2];
  Scalar a_, b_;
  bool has_x_;
  int mu_;
};

template <class Layout, class Storage>
void launch_direction_hop(const DirectionHopCall& call, const SiteRange& blocks);

}  // namespace trellis
