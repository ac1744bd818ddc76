#pragma once
/// Faces of the Wilson hop: the half spinors that a leg of the receiver needs, formed by the sender.
///   leg 2 mu   (x+mu): project (1 - s gamma_mu) psi(y),              y on the sender's face x_mu = 0
///   leg 2 mu+1 (x-mu): U_mu(y)^dagger project (1 + s gamma_mu) psi(y), y on the sender's face x_mu = L - 1
/// s = -1 for the dagger. Where lanes split the direction too, a block's lanes are partly for the block
/// across the inner edge of this rank and partly for the other rank: the ghost block gets the first ones at
/// once, the others go into the message, and the receiver adds them to its own.
#include "trellis/kernels/dirac/wilson_leg.hpp"
#include "trellis/view/raw_stencil.hpp"

namespace trellis {

struct WilsonFaceCall {
  int leg = 0;     ///< of the receiver
  RawField links;  ///< of the parity of `in`
  int link_reals = 18;
  RawField in;
  RawField ghost;                        ///< of this leg
  void* message = nullptr;               ///< [face block][slot][12][edge lanes], scalars of the arithmetic
  const int32_t* face = nullptr;         ///< blocks of the sender's face
  const int32_t* permutation = nullptr;  ///< of the leg, null where lanes do not split the direction
  const int32_t* edge_lanes = nullptr;   ///< lanes of a face block that leave the rank
  const int32_t* ghost_lanes = nullptr;  ///< lanes of a ghost block that come from the other rank
  int edge_lane_count = 0;
  bool is_dagger = false;
  int slots = 1;
};

template <class Layout, class Storage, int LinkReals>
class WilsonFace {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  using GhostView = HalfSpinorView<Layout, Scalar>;

  explicit WilsonFace(const WilsonFaceCall& call)
      : call_{call}, links_{call.links}, in_{call.in}, ghost_{call.ghost} {}

  /// Face block `index`: ghost and message of one right-hand side.
  TRELLIS_SITE_FN void pack(int index, int slot) const {
    switch (call_.leg / 2) {
      case 0:
        return pack_direction<0>(index, slot);
      case 1:
        return pack_direction<1>(index, slot);
      case 2:
        return pack_direction<2>(index, slot);
      default:
        return pack_direction<3>(index, slot);
    }
  }

  /// Puts the received lanes of ghost block `index` in place.
  TRELLIS_SITE_FN void unpack(int index, int slot) const {
    HalfSpinor<Real> h;
    if (call_.permutation != nullptr) h = ghost_.load(index, slot);
    Real* r = reinterpret_cast<Real*>(&h);
    const Scalar* m = message(index, slot);
    for (int i = 0; i < 12; ++i)
      for (int k = 0; k < call_.edge_lane_count; ++k)
        set_lane(r[i], call_.ghost_lanes[k], m[i * call_.edge_lane_count + k]);
    ghost_.store(index, slot, h);
  }

 private:
  template <int mu>
  TRELLIS_SITE_FN void pack_direction(int index, int slot) const {
    const int block = call_.face[index];
    const bool is_forward = call_.leg % 2 == 0;
    const Scalar sign = is_forward == call_.is_dagger ? 1 : -1;
    HalfSpinor<Real> h = is_forward ? to_ghost(projected_half<mu>(in_, block, slot, sign))
                                    : backward_half<mu>(links_, in_, block, slot, sign);
    Real* r = reinterpret_cast<Real*>(&h);
    Scalar* m = message(index, slot);
    for (int i = 0; i < 12; ++i)
      for (int k = 0; k < call_.edge_lane_count; ++k)
        m[i * call_.edge_lane_count + k] = lane(r[i], call_.edge_lanes[k]);
    if constexpr (Layout::lanes > 1) {
      if (call_.permutation == nullptr) return;
      for (int i = 0; i < 12; ++i) r[i] = permute(r[i], call_.permutation);
      ghost_.store(index, slot, h);
    }
  }

  TRELLIS_SITE_FN Scalar* message(int index, int slot) const {
    return static_cast<Scalar*>(call_.message) +
           (size_t(index) * call_.slots + slot) * 12 * call_.edge_lane_count;
  }

  WilsonFaceCall call_;
  LinkView<Layout, Storage, LinkReals> links_;
  Spinors in_;
  GhostView ghost_;
};

struct SiteRange;
/// Fills `call.message` (sender's side) and the local lanes of the ghost blocks.
template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFaceCall& call, const SiteRange& face);
/// Completes the ghost blocks from `call.message` (receiver's side).
template <class Layout, class Storage>
void launch_wilson_unpack(const WilsonFaceCall& call, const SiteRange& face);

}  // namespace trellis
