#pragma once
/// Faces of the Wilson hop have the half spinors that a leg of the receiver needs, formed by the sender.
///   leg 2 mu   (x+mu): project (1 - s gamma_mu) psi(y),              y on the sender's face x_mu = 0
///   leg 2 mu+1 (x-mu): U_mu(y)^dagger project (1 + s gamma_mu) psi(y), y on the sender's face x_mu = L - 1
/// For the dagger s = -1.
#include "trellis/kernels/dirac/wilson_leg.hpp"
#include "trellis/kernels/halo/lane_face.hpp"

namespace trellis {

struct WilsonFacesCall {
  LaneFaceCalls faces;  ///< they are faces of half spinors
  RawField links;       ///< they belong to the parity of `in`
  int link_reals = 18;
  RawField in;
  bool is_dagger = false;
  int slots = 1;
};

template <class Layout, class Storage, int LinkReals>
class WilsonFaces {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;
  static constexpr int most = LaneFaceCalls::most;

  explicit WilsonFaces(const WilsonFacesCall& call)
      : count_{call.faces.count}, links_{call.links}, in_{call.in}, is_dagger_{call.is_dagger} {
    for (int face = 0; face < count_; face += 2) {
      ahead_[face / 2] = Ahead(call.faces.faces[face]);
      behind_[face / 2] = Behind(call.faces.faces[face + 1]);
    }
  }

  int count() const { return count_; }
  int sites(int face) const { return face % 2 == 0 ? ahead_[face / 2].blocks() : behind_[face / 2].blocks(); }

  /// Fills ghost and message from block `index` of a face, for one right-hand side.
  TRELLIS_SITE_FN void pack(int face, int index, int slot) const {
    switch (ahead_[face / 2].direction()) {
      case 0:
        return pack_direction<0>(face, index, slot);
      case 1:
        return pack_direction<1>(face, index, slot);
      case 2:
        return pack_direction<2>(face, index, slot);
      default:
        return pack_direction<3>(face, index, slot);
    }
  }

 private:
  using Ghosts = WilsonGhosts<Layout, Storage>;

  template <int mu>
  TRELLIS_SITE_FN void pack_direction(int number, int index, int slot) const {
    const bool is_forward = number % 2 == 0;
    const Scalar sign = is_forward == is_dagger_ ? 1 : -1;
    if (is_forward) {
      const Ahead& face = ahead_[number / 2];
      face.send(to_ghost(projected_half<mu>(in_, face.block(index), slot, sign)), index, slot);
    } else {
      const Behind& face = behind_[number / 2];
      face.send(backward_half<mu>(links_, in_, face.block(index), slot, sign), index, slot);
    }
  }

  using Ahead = LaneFace<Layout, typename Ghosts::Forward>;
  using Behind = LaneFace<Layout, typename Ghosts::Backward>;
  int count_;
  Ahead ahead_[most / 2];    ///< forward legs of receivers take these
  Behind behind_[most / 2];  ///< backward ones take these
  LinkView<Layout, Storage, LinkReals> links_;
  Spinors in_;
  bool is_dagger_;
};

/// It is what a leg receives where lanes split its direction.
template <class Layout, class Storage>
class WilsonArrivals {
 public:
  explicit WilsonArrivals(const LaneFaceCall& call)
      : is_forward_{call.leg % 2 == 0}, ahead_{call}, behind_{call} {}
  TRELLIS_SITE_FN void unpack(int index, int slot) const {
    is_forward_ ? ahead_.receive(index, slot) : behind_.receive(index, slot);
  }

 private:
  using Ghosts = WilsonGhosts<Layout, Storage>;
  bool is_forward_;
  LaneFace<Layout, typename Ghosts::Forward> ahead_;    ///< forward legs have this one
  LaneFace<Layout, typename Ghosts::Backward> behind_;  ///< backward ones have this
};

struct SiteRange;
/// Fills all messages (sender's side) and the local lanes of the ghost blocks.
template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFacesCall& call);
/// Completes the ghost blocks of a leg from its message (receiver's side).
template <class Layout, class Storage>
void launch_wilson_unpack(const LaneFaceCall& call, const SiteRange& face);

}  // namespace trellis
