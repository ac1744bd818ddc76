#pragma once
/// Faces of the Wilson hop have the half spinors that a leg of the receiver needs, formed by the sender.
///   leg 2 mu   (x+mu): project (1 - s gamma_mu) psi(y),              y on the sender's face x_mu = 0
///   leg 2 mu+1 (x-mu): U_mu(y)^dagger project (1 + s gamma_mu) psi(y), y on the sender's face x_mu = L - 1
/// For the dagger s = -1.
#include "trellis/kernels/dirac/wilson_leg.hpp"
#include "trellis/kernels/halo/lane_face.hpp"

namespace trellis {

struct WilsonFaceCall {
  LaneFaceCall face;  ///< it is a face of half spinors
  RawField links;     ///< they belong to the parity of `in`
  int link_reals = 18;
  RawField in;
  bool is_dagger = false;
};

template <class Layout, class Storage, int LinkReals>
class WilsonFace {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit WilsonFace(const WilsonFaceCall& call)
      : ahead_{call.face}, behind_{call.face}, links_{call.links}, in_{call.in}, is_dagger_{call.is_dagger} {}

  /// Fills ghost and message from face block `index`, for one right-hand side.
  TRELLIS_SITE_FN void pack(int index, int slot) const {
    switch (ahead_.direction()) {
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
  TRELLIS_SITE_FN void unpack(int index, int slot) const {
    ahead_.is_forward() ? ahead_.receive(index, slot) : behind_.receive(index, slot);
  }

 private:
  template <int mu>
  TRELLIS_SITE_FN void pack_direction(int index, int slot) const {
    const int block = ahead_.block(index);
    const Scalar sign = ahead_.is_forward() == is_dagger_ ? 1 : -1;
    if (ahead_.is_forward())
      ahead_.send(to_ghost(projected_half<mu>(in_, block, slot, sign)), index, slot);
    else
      behind_.send(backward_half<mu>(links_, in_, block, slot, sign), index, slot);
  }

  using Ghosts = WilsonGhosts<Layout, Storage>;
  /// The call has this one, where it is that of a forward leg.
  LaneFace<Layout, typename Ghosts::Forward> ahead_;
  LaneFace<Layout, typename Ghosts::Backward> behind_;  ///< or it has this one of a backward leg
  LinkView<Layout, Storage, LinkReals> links_;
  Spinors in_;
  bool is_dagger_;
};

struct SiteRange;
/// Fills `call.face.message` (sender's side) and the local lanes of the ghost blocks.
template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFaceCall& call, const SiteRange& face);
/// Completes the ghost blocks from `call.face.message` (receiver's side).
template <class Layout, class Storage>
void launch_wilson_unpack(const WilsonFaceCall& call, const SiteRange& face);

}  // namespace trellis
