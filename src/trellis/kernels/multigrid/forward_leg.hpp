#pragma once
/// The kernel computes out(x) = U_mu(x) psi(x + mu) for all spins. The coarse links are made from these legs
/// of the operator. It takes 528 flop a site and right-hand side.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/view/site_elements.hpp"
#include "trellis/view/structured.hpp"

namespace trellis {

struct ForwardLegCall {
  /// They are [block][lane]: place << 1 | is_ghost (lattice/site_halo.hpp).
  const int32_t* neighbours = nullptr;
  RawField links;       ///< they have the parity of out
  RawField in, ghosts;  ///< in has the other parity
  RawField out;
  int mu = 0, slots = 1;
};

template <class Layout, class Storage>
class ForwardLeg {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Elements = SiteElements<Layout, Storage>;
  using Real = typename Spinors::Real;
  static constexpr int W = Layout::lanes;

  explicit ForwardLeg(const ForwardLegCall& call)
      : neighbours_{call.neighbours},
        links_{call.links},
        in_{call.in, 24},
        ghosts_{call.ghosts, 24},
        out_{call.out},
        mu_{call.mu} {}

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    Spinor<Real> psi;
    Real* p = reinterpret_cast<Real*>(&psi);
    const int32_t* entries = neighbours_ + size_t(block) * W;
    if (W > 1 && is_one_block(entries)) {
      const int from = (entries[0] >> 1) / W;
      for (int i = 0; i < 24; ++i) p[i] = load_real<Real>(in_.element(from, 0, slot, i));
    } else {
      alignas(64) Storage numbers[24 * W];
      for (int lane = 0; lane < W; ++lane) {
        const Elements& from = entries[lane] & 1 ? ghosts_ : in_;
        const int place = entries[lane] >> 1;
        for (int i = 0; i < 24; ++i) numbers[i * W + lane] = *from.element(place / W, place % W, slot, i);
      }
      for (int i = 0; i < 24; ++i) p[i] = load_real<Real>(numbers + i * W);
    }
    const ColorMatrix<Real> U = links_.load(block, mu_);
    unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { psi.s[s] = U * psi.s[s]; });
    out_.store(block, slot, psi);
  }

 private:
  /// Returns true where the neighbours are the lanes of one block of this rank, in their order.
  static TRELLIS_SITE_FN bool is_one_block(const int32_t* entries) {
    bool is = entries[0] % (2 * W) == 0;
    for (int lane = 1; lane < W; ++lane) is = is && entries[lane] == entries[0] + 2 * lane;
    return is;
  }

  const int32_t* neighbours_;
  LinkView<Layout, Storage, 18> links_;
  Elements in_, ghosts_;
  Spinors out_;
  int mu_;
};

template <class Layout, class Storage>
void launch_forward_leg(const ForwardLegCall& call, const SiteRange& blocks);

}  // namespace trellis
