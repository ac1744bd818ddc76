#pragma once
/// The hopping term of staggered fermions, at distance one (naive) or one and three (HISQ, asqtad), is fused
/// with what follows the hop.
///
///   H psi(x) = sum_legs p_leg(x) h_leg,   h = V_mu(x) psi(x + d mu) or V_mu(x - d mu)^dagger psi(x - d mu)
///   out = a x + b H psi
///
/// p_leg is u_mu(x) on forward legs and -conj(u_mu(x - d mu)) on backward ones for the Dirac operator;
/// derivatives of it have any other complex factors. There are 8 products of 66 flop and 7 sums of 6: 570
/// flop per site (1146 with both distances), without the factors, as everybody counts. The must-move bytes
/// per site in double are 8 links of 12 reals and two colour vectors: 864 (432 in float), 1248 with 18 reals;
/// 2144 for HISQ (18 + 14).
///
/// The backward product is formed where its link lies and only its 6 reals move; where links that lead to a
/// site lie beside its own (field/hop_links.hpp), psi moves instead, and the bits are the same. Ghost buffers
/// hold psi for forward legs, V^dagger psi for backward ones. In 16-bit fixed point links and vectors are
/// multiplied as integers (view/integer_products.hpp).
#include <array>
#include <utility>

#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/dirac/staggered_leg.hpp"
#include "trellis/view/hop_view.hpp"

namespace trellis {

class Geometry;

inline constexpr double staggered_hop_flops = 570, improved_hop_flops = 1146;

/// It has links, neighbours, factors and ghosts of one distance.
struct HopPart {
  RawHopStencil stencil;  ///< it belongs to the parity of `out`
  RawPhases phases;       ///< they belong to the parity of `out`
  /// They have the parity of `out` and of `in`; slot = mu, or 4 + mu: back links.
  RawField links_here, links_there;
  int link_reals = 0;  ///< it is 18, 12 or 14; 0: there are no hops over this distance
  RawField ghosts[8];  ///< each leg has colour vectors; slots = right-hand sides
};

struct StaggeredHopCall {
  HopPart near, far;
  RawField in, out;
  RawField x;  ///< it has the parity of `out`; used when x_scalar is not 0
  double x_scalar = 0, hop_scalar = 1;
  int slots = 1;
  /// It computes [slot] += Re x^dagger out; not in 16-bit storage, at most 2 slots.
  ExactSum* energies = nullptr;
  /// It counts bytes of links and fields on this rank, or 0 where nothing is read ahead.
  size_t working_set = 0;
  const Geometry* geometry = nullptr;
};

/// They are the vectors of S right-hand sides at a site.
template <class R, int S>
struct VectorBatch {
  ColorVector<R> v[S];
};

/// It is one distance of a hop, for S right-hand sides at a time.
template <class Layout, class Storage, int LinkReals>
class HopLegs {
 public:
  using Vectors = ColorVectorView<Layout, Storage>;
  using Real = typename Vectors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  HopLegs() = default;
  explicit HopLegs(const HopPart& part)
      : stencil_{part.stencil}, phases_{part.phases}, links_{part.links_here, part.links_there} {
    for (int leg = 0; leg < 8; ++leg) ghosts_[leg] = GhostView(part.ghosts[leg]);
  }

  template <int S>
  using Batch = VectorBatch<Real, S>;

  /// Adds to sum p_leg h_leg over all legs.
  template <int S>
  TRELLIS_SITE_FN void add(Batch<S>& sum, const Vectors& in, int block, int slot) const {
    if constexpr (is_shared)
      add_shared(sum, in, block, slot);
    else
      add_legs(sum, in, block, slot);
  }

 private:
  using GhostView = ColorVectorView<Layout, Scalar>;
  using Ready = decltype(link_ready(std::declval<const Vectors&>(), 0, 0));
  /// Hops of one distance and of two, with and without energies, share one copy where no run chooses the
  /// layout for its speed (as in cmake/TrellisFolders.cmake): a third of the time of compiling, and a
  /// twentieth of the speed.
#if defined(__AVX512F__)
  static constexpr bool is_fast = Layout::lanes * sizeof(Scalar) == 64;
#elif defined(__AVX2__)
  static constexpr bool is_fast = Layout::lanes * sizeof(Scalar) == 32;
#else
  static constexpr bool is_fast = Layout::lanes > 1 && Layout::lanes * sizeof(Scalar) <= 64;
#endif
  static constexpr bool is_shared = !is_fast && !std::is_same_v<Layout, CudaLayout>;

  /// The loop over mu stays one: nothing in it depends on the direction.
  template <int S>
  TRELLIS_SITE_FN void add_legs(Batch<S>& sum, const Vectors& in, int block, int slot) const {
    for (int mu = 0; mu < 4; ++mu) {
      add_forward(sum, in, block, mu, slot);
      add_backward(sum, in, block, mu, slot);
    }
  }
  template <int S>
  TRELLIS_EDGE_FN void add_shared(Batch<S>& sum, const Vectors& in, int block, int slot) const {
    Batch<S> legs = sum;
    add_legs(legs, in, block, slot);
    sum = legs;
  }

  template <int S>
  TRELLIS_SITE_FN void add_forward(Batch<S>& sum, const Vectors& in, int block, int mu, int slot) const {
    const int leg = 2 * mu;
    const HopNeighbour n = stencil_.neighbour(block, leg);
    Ready v[S];
    if (n.is_ghost) {
      unroll<S>([&](auto s)
                    TRELLIS_INLINE_LAMBDA { from_ghost(v[s], ghosts_[leg].load(n.index, slot + s)); });
    } else {
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        v[s] = link_ready(in, n.index, slot + s);
        move_lanes(v[s], leg, n.moves);
      });
    }
    auto rows = links_.forward(block, mu);
    add_products_of_rows(sum, rows, v, phases_.row(block, leg));
  }
  /// Adds: sum_s += p U v_s.
  template <int S, class Rows>
  TRELLIS_SITE_FN void add_products_of_rows(Batch<S>& sum, Rows& rows, const ColorVector<Real> (&v)[S],
                                            const Scalar* factor) const {
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const ColorRow<Real> row = rows.template row<i>();
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA { accumulate(sum.v[s].c[i], factor, row * v[s]); });
    });
  }
  template <int S, class Rows, class Pair>
  TRELLIS_SITE_FN void add_products_of_rows(Batch<S>& sum, Rows& rows,
                                            const IntegerVector<Real, Pair> (&v)[S],
                                            const Scalar* factor) const {
    ProductForms<Pair> forms[S][Nc];
    Real unit[S];
    const Real link_unit = rows.unit();
    unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
      unroll<Nc>([&](auto j) TRELLIS_INLINE_LAMBDA { forms[s][j] = product_forms<false>(v[s].v.c[j]); });
      unit[s] = link_unit * v[s].unit;
    });
    unroll<Nc>([&](auto i) TRELLIS_INLINE_LAMBDA {
      const ColorPairs<Pair> row = rows.template row<i>();
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        accumulate(sum.v[s].c[i], factor, to_complex(unit[s], row_product(row, forms[s])));
      });
    });
  }
  template <int S>
  TRELLIS_SITE_FN void add_backward(Batch<S>& sum, const Vectors& in, int block, int mu, int slot) const {
    const int leg = 2 * mu + 1;
    const HopNeighbour n = stencil_.neighbour(block, leg);
    Batch<S> h;
    if (n.is_ghost) {
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA { h.v[s] = ghosts_[leg].load(n.index, slot + s); });
    } else {
      Ready v[S];
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        v[s] = link_ready(in, n.index, slot + s);
        if (links_.lie_beside()) move_lanes(v[s], leg, n.moves);
      });
      rows_dagger_multiply(h.v, links_.backward(block, n.index, mu), v);
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        if (!links_.lie_beside()) move_lanes(h.v[s], leg, n.moves);
      });
    }
    const Scalar* factor = phases_.row(block, leg);
    unroll<S * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
      accumulate(sum.v[k / Nc].c[k % Nc], factor, h.v[k / Nc].c[k % Nc]);
    });
  }

  /// Adds: sum += p g.
  TRELLIS_SITE_FN void accumulate(Complex<Real>& sum, const Scalar* factor, const Complex<Real>& g) const {
    mul_add(sum, {phases_.real_part(factor), phases_.imaginary_part(factor)}, g);
  }

  TRELLIS_SITE_FN void move_lanes(ColorVector<Real>& v, int leg, int moves) const {
    if (moves != 0) stencil_.template move_lanes<Real>(v, leg, moves);
  }
  template <class Pair>
  TRELLIS_SITE_FN void move_lanes(IntegerVector<Real, Pair>& v, int leg, int moves) const {
    if (moves == 0) return;
    stencil_.template move_lanes<Pair>(v.v, leg, moves);
    stencil_.template move_lanes<Real>(v.unit, leg, moves);
  }

  HopStencilView<Layout> stencil_;
  PhaseView<Layout, Scalar> phases_;
  HopLegLinks<Layout, Storage, LinkReals> links_;
  GhostView ghosts_[8];
};

template <class Layout, class Storage, int NearReals, int FarReals>
class StaggeredHop {
 public:
  using Vectors = ColorVectorView<Layout, Storage>;
  using Real = typename Vectors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  using Term = LaneReal<double, Layout::lanes>;
  template <int S>
  using Batch = VectorBatch<Real, S>;

  explicit StaggeredHop(const StaggeredHopCall& call)
      : near_{call.near},
        in_{call.in},
        out_{call.out},
        x_{call.x},
        a_{Scalar(call.x_scalar)},
        b_{Scalar(call.hop_scalar)},
        has_x_{call.x_scalar != 0} {
    if constexpr (FarReals != 0) far_ = HopLegs<Layout, Storage, FarReals>(call.far);
  }

  /// A thread of a GPU can take so many right-hand sides.
  static constexpr int most_columns = 6;

  /// Does one block for the right-hand sides slot..slot+S-1.
  template <int S>
  TRELLIS_SITE_FN void compute(int block, int slot) const {
    const Batch<S> sum = legs<S>(block, slot);
    unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA { finish(sum.v[s], block, slot + s); });
  }
  /// Returns Re x^dagger out of a right-hand side after compute(), in double and in the order of the reals.
  /// What was just stored is still in the L1; holding it in registers made the legs slower.
  TRELLIS_SITE_FN Term energy(int block, int slot) const {
    const ColorVector<Real> out = out_.load(block, slot), x = x_.load(block, slot);
    Term energy(0.0);
    unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
      energy = fma(convert_real<double>(x.c[c].re), convert_real<double>(out.c[c].re), energy);
      energy = fma(convert_real<double>(x.c[c].im), convert_real<double>(out.c[c].im), energy);
    });
    return energy;
  }
  TRELLIS_SITE_FN void operator()(int block, int slot) const { compute<1>(block, slot); }

 private:
  template <int S>
  TRELLIS_SITE_FN Batch<S> legs(int block, int slot) const {
    Batch<S> sum;
    unroll<S * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA { sum.v[k / Nc].c[k % Nc] = {Real(0), Real(0)}; });
    near_.add(sum, in_, block, slot);
    if constexpr (FarReals != 0) far_.add(sum, in_, block, slot);
    return sum;
  }
  /// Stores a x + b sum.
  TRELLIS_SITE_FN void finish(const ColorVector<Real>& sum, int block, int slot) const {
    const Real a(a_), b(b_);
    ColorVector<Real> result = b * sum;
    if (has_x_) {
      const ColorVector<Real> x = x_.load(block, slot);
      unroll<Nc>([&](auto c) TRELLIS_INLINE_LAMBDA {
        result.c[c] = {fma(a, x.c[c].re, result.c[c].re), fma(a, x.c[c].im, result.c[c].im)};
      });
    }
    out_.store(block, slot, result);
  }

  HopLegs<Layout, Storage, NearReals> near_;
  HopLegs<Layout, Storage, FarReals == 0 ? 18 : FarReals> far_;
  Vectors in_, out_, x_;
  Scalar a_, b_;
  bool has_x_;
};

struct SiteRange;
/// Computes out = a x + b H psi on the blocks of the range, for all right-hand sides. It is instantiated in
/// staggered_hop.launch.cpp and dispatched in operator/.
template <class Layout, class Storage>
void launch_staggered_hop(const StaggeredHopCall& call, const SiteRange& sites);

}  // namespace trellis
