#pragma once
/// Hops of colour vectors over any distance have ghosts (lattice/hop_stencil.hpp): they are for forward legs
/// psi(y), for backward legs V_mu(y)^dagger psi(y), formed by the sender in the form in which the hop takes
/// them. Lanes that stay on this rank go to the ghost blocks at once, the others into the message.
#include "trellis/kernels/dirac/staggered_leg.hpp"

namespace trellis {

struct VectorFaceCall {
  int leg = 0;     ///< it is that of the receiver
  RawField links;  ///< they belong to the parity of `in`
  int link_reals = 18;
  RawField in;
  RawField ghost;                       ///< it belongs to this leg
  void* message = nullptr;              ///< it is [position][slot][6], scalars of the arithmetic
  const int32_t* sources = nullptr;     ///< they are blocks of `in`
  const int32_t* first = nullptr;       ///< it has [sources + 1]
  const int32_t* deliveries = nullptr;  ///< they are [lane, to]; to as in HopStencil::Delivery
  const int32_t* arrivals = nullptr;    ///< they have [position]: ghost * lanes + lane
  int slots = 1;
};

template <class Layout, class Storage, int LinkReals>
class VectorFace {
 public:
  using Vectors = ColorVectorView<Layout, Storage>;
  using Real = typename Vectors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  using GhostView = ColorVectorView<Layout, Scalar>;
  static constexpr int W = Layout::lanes;

  explicit VectorFace(const VectorFaceCall& call)
      : call_{call}, links_{call.links}, in_{call.in}, ghost_{call.ghost} {}

  /// Makes the deliveries of source block `index` for one right-hand side.
  TRELLIS_SITE_FN void pack(int index, int slot) const {
    const int block = call_.sources[index];
    const auto ready = link_ready(in_, block, slot);
    const decltype(ready) v[1] = {ready};
    ColorVector<Real> h[1];
    if (call_.leg % 2 == 0)
      h[0] = to_ghost(ready);
    else
      rows_dagger_multiply(h, links_.rows(block, call_.leg / 2), v);
    for (int k = call_.first[index]; k < call_.first[index + 1]; ++k) {
      const int lane = call_.deliveries[2 * k], to = call_.deliveries[2 * k + 1];
      if (to >= 0)
        take_lane(message(to, slot), h[0], lane);
      else
        put_in_ghost(h[0], lane, ~to, slot);
    }
  }
  /// Moves the received position `index` into its ghost.
  TRELLIS_SITE_FN void unpack(int index, int slot) const {
    put_in_ghost(message(index, slot), call_.arrivals[index], slot);
  }

 private:
  TRELLIS_SITE_FN Scalar* message(int position, int slot) const {
    return static_cast<Scalar*>(call_.message) + (size_t(position) * call_.slots + slot) * 6;
  }
  TRELLIS_SITE_FN static void take_lane(Scalar* to, const ColorVector<Real>& h, int from) {
    const Real* r = reinterpret_cast<const Real*>(&h);
    for (int i = 0; i < 6; ++i) to[i] = lane(r[i], from);
  }
  TRELLIS_SITE_FN void put_in_ghost(const ColorVector<Real>& h, int from, int place, int slot) const {
    Scalar reals[6];
    take_lane(reals, h, from);
    put_in_ghost(reals, place, slot);
  }
  /// Copies and nothing else: what moves may be integers.
  TRELLIS_SITE_FN void put_in_ghost(const Scalar* reals, int place, int slot) const {
    if constexpr (W == 1) {
      ColorVector<Real> h;
      Real* r = reinterpret_cast<Real*>(&h);
      for (int i = 0; i < 6; ++i) r[i] = reals[i];
      ghost_.store(place, slot, h);
    } else {
      Scalar* g = static_cast<Scalar*>(call_.ghost.data) + (size_t(place / W) * call_.slots + slot) * 6 * W +
                  place % W;
      for (int i = 0; i < 6; ++i) g[i * W] = reals[i];
    }
  }

  VectorFaceCall call_;
  HopLinkView<Layout, Storage, LinkReals> links_;
  Vectors in_;
  GhostView ghost_;
};

struct SiteRange;
/// Fills `call.message` and the local lanes of the ghost blocks; the range counts source blocks.
template <class Layout, class Storage>
void launch_vector_pack(const VectorFaceCall& call, const SiteRange& sources);
/// Completes the ghost blocks from the received `call.message`; the range counts its positions.
template <class Layout, class Storage>
void launch_vector_unpack(const VectorFaceCall& call, const SiteRange& positions);

}  // namespace trellis
