#pragma once
/// The Wilson hopping term and the even-odd operators built on it, fused with what follows the hop.
///
///   H psi(x) = sum_mu c_mu [ (1 - gamma_mu) z_mu(x) U_mu(x) psi(x+mu) + (1 + gamma_mu) conj(z_mu(x-mu)) U_mu(x-mu)^dagger psi(x-mu) ]
///
/// z: boundary phases (1 except across the boundary), c: anisotropy. Dagger flips the signs of gamma_mu.
/// 1320 flop per site. Must-move bytes per site: 8 links + spinor in + spinor out; 1536 in double with 18 reals
/// (768 float), 1152 with 12.
///
/// The backward product U^dagger psi is formed where its link lies, x-mu, and only its 12 reals move: no link
/// crosses lanes or ranks. Ghost buffers hold half spinors in the form in which they enter here.
#include "trellis/view/raw_stencil.hpp"
#include "trellis/view/structured.hpp"

namespace trellis {

inline constexpr double wilson_hop_flops = 1320;

/// What happens to H psi at a site: out = first(x) + second(coefficient H psi).
/// A chiral scalar multiplies the upper two spins by (a, b) = a + i b and the lower two by a - i b.
enum class SiteTerm { none, chiral_scalar, clover };

struct WilsonHopCall {
  RawStencil stencil;  ///< of the parity of `out`
  RawField links_here, links_there;  ///< parity of `out` and of `in`; slot = mu
  int link_reals = 18;
  RawField in, out;
  RawField x;       ///< parity of `out`; used when x_term is not none
  RawField clover;  ///< parity of `out`; used by clover terms
  RawField ghosts[8];  ///< half spinors by leg; slots = right-hand sides
  SiteTerm x_term = SiteTerm::none, hop_term = SiteTerm::chiral_scalar;
  double x_scalar[2] = {0, 0}, hop_scalar[2] = {1, 0};
  double coefficient = 1.0;  ///< multiplies H psi before a clover hop_term
  bool is_dagger = false;
  int slots = 1;
};

/// Multiplies the two chiral components with the hermitian 6x6 blocks of a clover term (72 reals: for each
/// chirality 6 diagonal reals, then the 15 complex entries below the diagonal, row by row). 504 flop.
template <class R>
TRELLIS_SITE_FN void clover_multiply(Spinor<R>& out, const R (&block)[72], const Spinor<R>& in) {
  for (int chirality = 0; chirality < 2; ++chirality) {
    const R* diagonal = block + 36 * chirality;
    const R* lower = diagonal + 6;
    for (int i = 0; i < 6; ++i) {
      const Complex<R>& self = in.s[2 * chirality + i / 3].c[i % 3];
      Complex<R> sum = {diagonal[i] * self.re, diagonal[i] * self.im};
      for (int j = 0; j < 6; ++j) {
        if (j == i) continue;
        const Complex<R>& other = in.s[2 * chirality + j / 3].c[j % 3];
        const int row = i > j ? i : j, column = i > j ? j : i;
        const int k = row * (row - 1) / 2 + column;
        const Complex<R> entry = {lower[2 * k], lower[2 * k + 1]};
        if (i > j)
          mul_add(sum, entry, other);
        else
          conj_mul_add(sum, entry, other);
      }
      out.s[2 * chirality + i / 3].c[i % 3] = sum;
    }
  }
}

/// (a + i b gamma5) psi
template <class R>
TRELLIS_SITE_FN Spinor<R> chiral_multiply(const R& a, const R& b, const Spinor<R>& psi) {
  Spinor<R> r;
  const R minus_b = -b;
  for (int s = 0; s < Ns; ++s)
    for (int c = 0; c < Nc; ++c) {
      const Complex<R>& v = psi.s[s].c[c];
      const R& imaginary = s < 2 ? b : minus_b;
      r.s[s].c[c] = {fnma(imaginary, v.im, a * v.re), fma(imaginary, v.re, a * v.im)};
    }
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
        x_re_{Scalar(call.x_scalar[0])},
        x_im_{Scalar(call.x_scalar[1])},
        hop_re_{Scalar(call.hop_scalar[0])},
        hop_im_{Scalar(call.hop_scalar[1])},
        coefficient_{Scalar(call.coefficient)},
        sign_{Scalar(call.is_dagger ? -1 : 1)} {
    for (int leg = 0; leg < 8; ++leg) ghosts_[leg] = GhostView(call.ghosts[leg]);
  }

  /// Computes one block and right-hand side.
  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    Spinor<Real> sum;
    for (int s = 0; s < Ns; ++s)
      for (int c = 0; c < Nc; ++c) sum.s[s].c[c] = {Real(0), Real(0)};
    add_legs<0>(sum, block, slot);
    add_legs<1>(sum, block, slot);
    add_legs<2>(sum, block, slot);
    add_legs<3>(sum, block, slot);
    finish(sum, block, slot);
  }

 private:
  using GhostView = HalfSpinorView<Layout, Scalar>;

  template <int mu>
  TRELLIS_SITE_FN void add_legs(Spinor<Real>& sum, int block, int slot) const {
    const Real forward_sign(-sign_), backward_sign(sign_);
    {
      constexpr int leg = 2 * mu;
      const Neighbour n = stencil_.neighbour(block, leg);
      HalfSpinor<Real> h;
      if (n.is_ghost) {
        h = ghosts_[leg].load(n.index, slot);
      } else {
        h = project<mu>(in_.load(n.index, slot), forward_sign);
        if (n.crosses) stencil_.move_lanes(h, leg);
      }
      h = links_here_.load(block, mu) * h;
      if (n.crosses) stencil_.apply_phase(h, leg);
      stencil_.apply_coefficient(h, leg);
      add_reconstructed<mu>(sum, h, forward_sign);
    }
    {
      constexpr int leg = 2 * mu + 1;
      const Neighbour n = stencil_.neighbour(block, leg);
      HalfSpinor<Real> h;
      if (n.is_ghost) {
        h = ghosts_[leg].load(n.index, slot);
      } else {
        h = dagger_mul(links_there_.load(n.index, mu), project<mu>(in_.load(n.index, slot), backward_sign));
        if (n.crosses) stencil_.move_lanes(h, leg);
      }
      if (n.crosses) stencil_.apply_phase(h, leg);
      stencil_.apply_coefficient(h, leg);
      add_reconstructed<mu>(sum, h, backward_sign);
    }
  }

  TRELLIS_SITE_FN void finish(Spinor<Real>& sum, int block, int slot) const {
    Spinor<Real> result;
    if (hop_term_ == SiteTerm::clover) {
      Real blocks[72];
      clover_.load(block, 0, blocks);
      const Real c(coefficient_);
      for (int s = 0; s < Ns; ++s) sum.s[s] = c * sum.s[s];
      clover_multiply(result, blocks, sum);
    } else {
      result = scale(sum, hop_re_, hop_im_);
    }
    if (x_term_ == SiteTerm::chiral_scalar) {
      const Spinor<Real> x = scale(x_.load(block, slot), x_re_, x_im_);
      for (int s = 0; s < Ns; ++s) result.s[s] = x.s[s] + result.s[s];
    } else if (x_term_ == SiteTerm::clover) {
      Real blocks[72];
      clover_.load(block, 0, blocks);
      Spinor<Real> x;
      clover_multiply(x, blocks, x_.load(block, slot));
      for (int s = 0; s < Ns; ++s) result.s[s] = x.s[s] + result.s[s];
    }
    out_.store(block, slot, result);
  }

  TRELLIS_SITE_FN static Spinor<Real> scale(const Spinor<Real>& psi, Scalar re, Scalar im) {
    if (im != 0) return chiral_multiply(Real(re), Real(im), psi);
    Spinor<Real> r;
    for (int s = 0; s < Ns; ++s) r.s[s] = Real(re) * psi.s[s];
    return r;
  }

  StencilView<Layout, Scalar> stencil_;
  LinkView<Layout, Storage, LinkReals> links_here_, links_there_;
  Spinors in_, out_, x_;
  SiteArray<Layout, Storage, 72> clover_;
  GhostView ghosts_[8];
  SiteTerm x_term_, hop_term_;
  Scalar x_re_, x_im_, hop_re_, hop_im_, coefficient_, sign_;
};

/// out = first(x) + second(H psi) on the blocks of the range, all right-hand sides.
/// Instantiated in wilson_hop.{cpu,emulated}.cpp and wilson_hop.cuda.cu; dispatched in field/.
struct SiteRange;
template <class Layout, class Storage>
void launch_wilson_hop(const WilsonHopCall& call, const SiteRange& sites);

}  // namespace trellis
