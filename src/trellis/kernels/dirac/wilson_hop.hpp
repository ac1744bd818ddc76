#pragma once
/// The Wilson hopping term, and the even-odd operators built on it, are fused with what follows the hop.
///
///   H psi(x) = sum_mu c_mu [ (1 - gamma_mu) z_mu(x) U_mu(x) psi(x+mu) + (1 + gamma_mu) conj(z_mu(x-mu))
///   U_mu(x-mu)^dagger psi(x-mu) ]
///
/// z are boundary phases (1 except across the boundary), c is the anisotropy. Dagger flips the signs of
/// gamma_mu. A site takes 1320 flop. The must-move bytes per site are 8 links + spinor in + spinor out: 1536
/// in double with 18 reals (768 float), 1152 with 12.
///
/// The backward product U^dagger psi is formed where its link lies, x-mu, and only its 12 reals move: no link
/// crosses lanes or ranks. Ghost buffers hold half spinors in the form in which they enter here. In 16-bit
/// fixed point links and half spinors are multiplied as integers (view/integer_products.hpp).
#include "trellis/kernels/dirac/leg_pair.hpp"
#include "trellis/kernels/dirac/wilson_leg.hpp"
#include "trellis/view/raw_stencil.hpp"

namespace trellis {

class Geometry;

inline constexpr double wilson_hop_flops = 1320;

/// It says what happens to H psi at a site: out = first(x) + second(coefficient H psi). A chiral scalar
/// multiplies the upper two spins by (a, b) = a + i b and the lower two by a - i b.
enum class SiteTerm { none, chiral_scalar, clover };

struct WilsonHopCall {
  RawStencil stencil;                ///< it belongs to the parity of `out`
  RawField links_here, links_there;  ///< they have the parity of `out` and of `in`; slot = mu
  int link_reals = 18;
  RawField in, out;
  RawField x;          ///< it has the parity of `out`; used when x_term is not none
  RawField clover;     ///< it has the parity of `out`; clover terms use it
  RawField ghosts[8];  ///< each leg has its own (WilsonGhosts); slots = right-hand sides
  SiteTerm x_term = SiteTerm::none, hop_term = SiteTerm::chiral_scalar;
  double x_scalar[2] = {0, 0}, hop_scalar[2] = {1, 0};
  double coefficient = 1.0;  ///< it multiplies H psi before a clover hop_term
  bool is_dagger = false;
  int slots = 1;
  /// It counts bytes of links and fields on this rank; 0: nothing is read ahead or tuned.
  size_t working_set = 0;
  const Geometry* geometry = nullptr;
  int columns_per_thread = 0;  ///< a thread of a GPU takes so many right-hand sides; 0: the tuner chooses
};

/// Multiplies the two chiral components with the hermitian 6x6 blocks of a clover term (72 reals: for each
/// chirality 6 diagonal reals, then the 15 complex entries below the diagonal, row by row), with 504 flop.
template <class R>
TRELLIS_SITE_FN void clover_multiply(Spinor<R>& out, const R (&block)[72], const Spinor<R>& in) {
  unroll<12>([&](auto component) TRELLIS_INLINE_LAMBDA {
    constexpr int chirality = component / 6, i = component % 6, first = 36 * chirality;
    const Complex<R>& self = in.s[component / 3].c[component % 3];
    Complex<R> sum = {block[first + i] * self.re, block[first + i] * self.im};
    unroll<6>([&](auto j) TRELLIS_INLINE_LAMBDA {
      constexpr int row = i > j ? i : int(j), column = i > j ? int(j) : i;
      if constexpr (row != column) {
        constexpr int k = first + 6 + 2 * (row * (row - 1) / 2 + column);
        const Complex<R>& other = in.s[2 * chirality + j / 3].c[j % 3];
        if constexpr (i > j)
          mul_add(sum, {block[k], block[k + 1]}, other);
        else
          conj_mul_add(sum, {block[k], block[k + 1]}, other);
      }
    });
    out.s[component / 3].c[component % 3] = sum;
  });
}

/// Returns (a + i b gamma5) psi.
template <class R>
TRELLIS_SITE_FN Spinor<R> chiral_multiply(const R& a, const R& b, const Spinor<R>& psi) {
  Spinor<R> r;
  const R minus_b = -b;
  unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
    const Complex<R>& v = psi.s[k / Nc].c[k % Nc];
    const R& imaginary = k / Nc < 2 ? b : minus_b;
    r.s[k / Nc].c[k % Nc] = {fnma(imaginary, v.im, a * v.re), fma(imaginary, v.re, a * v.im)};
  });
  return r;
}

template <class Layout, class Storage, int LinkReals>
class WilsonHop {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit WilsonHop(const WilsonHopCall& call)
      : stencil_{call.stencil.table, call.stencil.legs},
        links_here_{call.links_here},
        links_there_{call.links_there},
        in_{call.in},
        out_{call.out},
        x_{call.x},
        clover_{call.clover},
        x_term_{call.x_term},
        hop_term_{call.hop_term},
        is_real_{call.x_term != SiteTerm::clover && call.hop_term != SiteTerm::clover &&
                 call.x_scalar[1] == 0 && call.hop_scalar[1] == 0},
        x_re_{Scalar(call.x_scalar[0])},
        x_im_{Scalar(call.x_scalar[1])},
        hop_re_{Scalar(call.hop_scalar[0])},
        hop_im_{Scalar(call.hop_scalar[1])},
        coefficient_{Scalar(call.coefficient)},
        sign_{Scalar(call.is_dagger ? -1 : 1)} {
    for (int mu = 0; mu < 4; ++mu) {
      ghosts_ahead_[mu] = typename Ghosts::Forward(call.ghosts[2 * mu]);
      ghosts_behind_[mu] = typename Ghosts::Backward(call.ghosts[2 * mu + 1]);
    }
  }

  /// A thread of a GPU can take so many right-hand sides: their sums have to fit into its registers.
  static constexpr int most_columns = (sizeof(Scalar) == 8       ? 2
                                       : Spinors::Array::is_half ? 3
                                                                 : 4) -
                                      (LinkReals == 8 ? 1 : 0);

  /// Computes right-hand sides slot .. slot + S - 1 of a block on a GPU, which reads links and neighbours
  /// once for all of them.
  template <int S>
  requires std::is_base_of_v<GpuLayout, Layout> TRELLIS_SITE_FN void compute(int block, int slot) const {
    if constexpr (S == 1) {
      (*this)(block, slot);
    } else {
      Spinor<Real> sum[S];
      add_all_legs(sum, block, slot);
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA { finish(sum[s], block, slot + s); });
    }
  }

  /// Computes H psi of right-hand sides slot .. slot + S - 1 without storing it, on a GPU.
  template <int S>
  requires std::is_base_of_v<GpuLayout, Layout> TRELLIS_SITE_FN void add_all_legs(Spinor<Real> (&sum)[S],
                                                                                  int block, int slot) const {
    unroll<4>([&](auto mu) TRELLIS_INLINE_LAMBDA {
      add_forward<mu>(sum, block, slot);
      add_backward<mu>(sum, block, slot);
    });
  }

  /// Computes one block and right-hand side.
  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    Spinor<Real> sum;
    add_legs<0>(sum, block, slot);
    add_legs<1>(sum, block, slot);
    add_legs<2>(sum, block, slot);
    add_legs<3>(sum, block, slot);
    finish(sum, block, slot);
  }

 private:
  using Ghosts = WilsonGhosts<Layout, Storage>;

  template <int mu>
  TRELLIS_SITE_FN void add_legs(Spinor<Real>& sum, int block, int slot) const {
    const Neighbour n = stencil_.neighbour(block, 2 * mu), m = stencil_.neighbour(block, 2 * mu + 1);
    HalfSpinor<Real> ahead, behind;
    if (n.is_plain) {
      auto half = projected_half<mu>(in_, n.index, slot, -sign_);
      if (n.crosses) move_lanes(half, 2 * mu);
      ahead = multiply(links_here_.rows(block, mu), half);
      if (n.crosses) stencil_.apply_real_phase(ahead, 2 * mu);
    } else {
      ahead = edge_forward<mu>(n, block, slot);
    }
    if (m.is_plain) {
      behind = backward_half<mu>(links_there_, in_, m.index, slot, sign_);
      if (m.crosses) {
        stencil_.move_lanes(behind, 2 * mu + 1);
        stencil_.apply_real_phase(behind, 2 * mu + 1);
      }
    } else {
      behind = edge_backward<mu>(m, slot);
    }
    add_reconstructed_pair<mu>(sum, ahead, behind, Real(sign_), Real(-sign_));
  }

  /// Adds the forward leg to sum[s], and sets it for mu = 0, which comes first.
  template <int mu, int S>
  TRELLIS_SITE_FN void add_forward(Spinor<Real> (&sum)[S], int block, int slot) const {
    const Neighbour n = stencil_.neighbour(block, 2 * mu);
    const auto add = [&](auto s, const HalfSpinor<Real>& h) TRELLIS_INLINE_LAMBDA {
      if constexpr (mu == 0)
        set_reconstructed<mu>(sum[s], h, Real(-sign_));
      else
        add_reconstructed<mu>(sum[s], h, Real(-sign_));
    };
    if (n.is_plain) {
      const auto rows = links_here_.rows(block, mu);
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        HalfSpinor<Real> h = multiply(rows, projected_half<mu>(in_, n.index, slot + s, -sign_));
        if (n.crosses) stencil_.apply_real_phase(h, 2 * mu);
        add(s, h);
      });
    } else {
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA { add(s, edge_forward<mu>(n, block, slot + s)); });
    }
  }
  template <int mu, int S>
  TRELLIS_SITE_FN void add_backward(Spinor<Real> (&sum)[S], int block, int slot) const {
    const Neighbour m = stencil_.neighbour(block, 2 * mu + 1);
    if (m.is_plain) {
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        HalfSpinor<Real> h = backward_half<mu>(links_there_, in_, m.index, slot + s, sign_);
        if (m.crosses) stencil_.apply_real_phase(h, 2 * mu + 1);
        add_reconstructed<mu>(sum[s], h, Real(sign_));
      });
    } else {
      unroll<S>([&](auto s) TRELLIS_INLINE_LAMBDA {
        add_reconstructed<mu>(sum[s], edge_backward<mu>(m, slot + s), Real(sign_));
      });
    }
  }

  /// Returns the half spinor of a leg that is not plain: a complex phase or a coefficient applies, or it lies
  /// on another rank. It is kept out of line so that the plain path stays short. (Lanes move in line: on 8^4
  /// half of all blocks have such a leg in a direction.)
  template <int mu>
  TRELLIS_EDGE_FN HalfSpinor<Real> edge_forward(Neighbour n, int block, int slot) const {
    constexpr int leg = 2 * mu;
    decltype(projected_half<mu>(in_, 0, 0, Scalar(1))) half;
    if (n.is_ghost) {
      from_ghost(half, ghosts_ahead_[mu].load(n.index, slot));
    } else {
      half = projected_half<mu>(in_, n.index, slot, -sign_);
      if (n.crosses) move_lanes(half, leg);
    }
    HalfSpinor<Real> h = multiply(links_here_.rows(block, mu), half);
    if (n.crosses) stencil_.apply_phase(h, leg);
    stencil_.apply_coefficient(h, leg);
    return h;
  }
  template <int mu>
  TRELLIS_EDGE_FN HalfSpinor<Real> edge_backward(Neighbour n, int slot) const {
    HalfSpinor<Real> h;
    constexpr int leg = 2 * mu + 1;
    if (n.is_ghost) {
      h = ghosts_behind_[mu].load(n.index, slot);
    } else {
      h = backward_half<mu>(links_there_, in_, n.index, slot, sign_);
      if (n.crosses) stencil_.move_lanes(h, leg);
    }
    if (n.crosses) stencil_.apply_phase(h, leg);
    stencil_.apply_coefficient(h, leg);
    return h;
  }

  TRELLIS_SITE_FN void move_lanes(HalfSpinor<Real>& h, int leg) const { stencil_.move_lanes(h, leg); }
  template <class Pair>
  TRELLIS_SITE_FN void move_lanes(IntegerHalfSpinor<Real, Pair>& h, int leg) const {
    stencil_.template move_lanes<Pair>(h.s[0], leg);
    stencil_.template move_lanes<Pair>(h.s[1], leg);
    stencil_.move_lanes(h.unit, leg);
  }

  /// Computes out = first(x) + second(sum), for real scalars in line, for the rest out of it.
  TRELLIS_SITE_FN void finish(const Spinor<Real>& sum, int block, int slot) const {
    if (!is_real_) return finish_general(sum, block, slot);
    Spinor<Real> result;
    const Real hop(hop_re_);
    if (x_term_ == SiteTerm::none) {
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { result.s[s] = hop * sum.s[s]; });
    } else {
      const Real unit = x_.load_unit(block, slot), a(x_re_);
      unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Complex<Real> x = {x_.array().template component<2 * k>(block, slot, unit),
                                 x_.array().template component<2 * k + 1>(block, slot, unit)};
        const Complex<Real>& h = sum.s[k / Nc].c[k % Nc];
        result.s[k / Nc].c[k % Nc] = {fma(a, x.re, hop * h.re), fma(a, x.im, hop * h.im)};
      });
    }
    out_.store(block, slot, result);
  }

  TRELLIS_CPU_EDGE_FN void finish_general(Spinor<Real> sum, int block, int slot) const {
    Spinor<Real> result;
    if (hop_term_ == SiteTerm::clover) {
      Real blocks[72];
      clover_.load(block, 0, blocks);
      const Real c(coefficient_);
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { sum.s[s] = c * sum.s[s]; });
      clover_multiply(result, blocks, sum);
    } else {
      result = chiral_multiply(Real(hop_re_), Real(hop_im_), sum);
    }
    if (x_term_ != SiteTerm::none) {
      Spinor<Real> x = x_.load(block, slot);
      if (x_term_ == SiteTerm::clover) {
        Real blocks[72];
        clover_.load(block, 0, blocks);
        Spinor<Real> y;
        clover_multiply(y, blocks, x);
        x = y;
      } else {
        x = chiral_multiply(Real(x_re_), Real(x_im_), x);
      }
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { result.s[s] = x.s[s] + result.s[s]; });
    }
    out_.store(block, slot, result);
  }

  StencilView<Layout, Scalar> stencil_;
  LinkView<Layout, Storage, LinkReals> links_here_, links_there_;
  Spinors in_, out_, x_;
  SiteArray<Layout, Storage, 72> clover_;
  typename Ghosts::Forward ghosts_ahead_[4];
  typename Ghosts::Backward ghosts_behind_[4];
  SiteTerm x_term_, hop_term_;
  bool is_real_;  ///< there is no clover term and no gamma5
  Scalar x_re_, x_im_, hop_re_, hop_im_, coefficient_, sign_;
};

/// Computes out = first(x) + second(H psi) on the blocks of the range, for all right-hand sides. It is
/// instantiated in wilson_hop.launch.cpp and dispatched in operator/.
struct SiteRange;
template <class Layout, class Storage>
void launch_wilson_hop(const WilsonHopCall& call, const SiteRange& sites);

}  // namespace trellis
