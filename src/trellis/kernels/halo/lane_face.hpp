#pragma once
/// Faces of blocks serve ghosts in the lanes' own form (full spinors and the half spinors of the Wilson hop).
/// On GPUs, and where lanes do not split the direction, the message is the ghosts as they lie in memory.
/// Where lanes split the direction too, a block's lanes are partly for the block across the inner edge of
/// this rank and partly for the other rank: the ghost block gets the first ones at once, the others go into
/// the message, and the receiver adds them to its own.
#include "trellis/view/structured.hpp"

namespace trellis {

struct LaneFaceCall {
  int leg = 0;     ///< it is that of the receiver
  RawField ghost;  ///< it belongs to this leg
  /// It is [face block][slot][real][edge lanes], scalars of the arithmetic, or as ghosts lie.
  void* message = nullptr;
  const int32_t* face = nullptr;  ///< it lists blocks of the sender's face
  int blocks = 0;                 ///< so many
  /// It belongs to the leg, null where lanes do not split the direction.
  const int32_t* permutation = nullptr;
  const int32_t* edge_lanes = nullptr;   ///< these lanes of a face block leave the rank
  const int32_t* ghost_lanes = nullptr;  ///< these lanes of a ghost block come from the other rank
  int edge_lane_count = 0;
  int slots = 1;
};

/// All faces of an exchange are packed in one launch. Those of a direction stand beside each other, the one
/// that serves the forward legs of receivers first.
struct LaneFaceCalls {
  static constexpr int most = 8;
  LaneFaceCall faces[most];
  int count = 0;
};

/// It is a face of the objects that a GhostView (an ObjectView) holds.
template <class Layout, class GhostView>
class LaneFace {
 public:
  using Object = typename GhostView::Value;
  using Real = typename GhostView::Real;
  using Scalar = typename RealTraits<Real>::scalar;

  LaneFace() = default;
  explicit LaneFace(const LaneFaceCall& call)
      : face_{call.face},
        permutation_{call.permutation},
        edge_lanes_{call.edge_lanes},
        ghost_lanes_{call.ghost_lanes},
        message_{static_cast<Scalar*>(call.message)},
        ghost_{call.ghost},
        whole_{RawField{call.message, nullptr, call.slots}},
        leg_{call.leg},
        blocks_{call.blocks},
        edge_lane_count_{call.edge_lane_count},
        slots_{call.slots} {}

  /// Returns the block of the sender that face block `index` is.
  TRELLIS_SITE_FN int block(int index) const { return face_[index]; }
  TRELLIS_SITE_FN int direction() const { return leg_ / 2; }
  int blocks() const { return blocks_; }  ///< counts those of the sender's face

  /// Writes the object of face block `index` into the message and, where lanes stay, the ghost block.
  TRELLIS_SITE_FN void send(Object h, int index, int slot) const {
    if constexpr (std::is_base_of_v<GpuLayout, Layout>) return whole_.store(index, slot, h);
    if constexpr (Layout::lanes > 1)
      if (edge_lane_count_ == Layout::lanes) return whole_.store(index, slot, h);
    Real* r = reinterpret_cast<Real*>(&h);
    Scalar* m = message(index, slot);
    for (int i = 0; i < reals; ++i)
      for (int k = 0; k < edge_lane_count_; ++k) m[i * edge_lane_count_ + k] = lane(r[i], edge_lanes_[k]);
    if constexpr (Layout::lanes > 1) {
      if (permutation_ == nullptr) return;
      for (int i = 0; i < reals; ++i) r[i] = permute(r[i], permutation_);
      ghost_.store(index, slot, h);
    }
  }

  /// Puts the received lanes of ghost block `index` in place.
  TRELLIS_SITE_FN void receive(int index, int slot) const {
    Object h;
    if (permutation_ != nullptr) h = ghost_.load(index, slot);
    Real* r = reinterpret_cast<Real*>(&h);
    const Scalar* m = message(index, slot);
    for (int i = 0; i < reals; ++i)
      for (int k = 0; k < edge_lane_count_; ++k) set_lane(r[i], ghost_lanes_[k], m[i * edge_lane_count_ + k]);
    ghost_.store(index, slot, h);
  }

 private:
  static constexpr int reals = int(sizeof(Object) / sizeof(Real));

  TRELLIS_SITE_FN Scalar* message(int index, int slot) const {
    return message_ + (size_t(index) * slots_ + slot) * reals * edge_lane_count_;
  }

  const int32_t* face_ = nullptr;
  const int32_t* permutation_ = nullptr;
  const int32_t* edge_lanes_ = nullptr;
  const int32_t* ghost_lanes_ = nullptr;
  Scalar* message_ = nullptr;
  GhostView ghost_, whole_;  ///< whole_ is the message where all lanes leave
  int leg_ = 0, blocks_ = 0, edge_lane_count_ = 0, slots_ = 1;
};

}  // namespace trellis
