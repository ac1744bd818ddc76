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
      : call_{call}, ghost_{call.ghost}, whole_{RawField{call.message, nullptr, call.slots}} {}

  /// Returns the block of the sender that face block `index` is.
  TRELLIS_SITE_FN int block(int index) const { return call_.face[index]; }
  TRELLIS_SITE_FN int direction() const { return call_.leg / 2; }

  /// Writes the object of face block `index` into the message and, where lanes stay, the ghost block.
  TRELLIS_SITE_FN void send(Object h, int index, int slot) const {
    if constexpr (std::is_base_of_v<GpuLayout, Layout>) return whole_.store(index, slot, h);
    if constexpr (Layout::lanes > 1)
      if (call_.edge_lane_count == Layout::lanes) return whole_.store(index, slot, h);
    Real* r = reinterpret_cast<Real*>(&h);
    Scalar* m = message(index, slot);
    for (int i = 0; i < reals; ++i)
      for (int k = 0; k < call_.edge_lane_count; ++k)
        m[i * call_.edge_lane_count + k] = lane(r[i], call_.edge_lanes[k]);
    if constexpr (Layout::lanes > 1) {
      if (call_.permutation == nullptr) return;
      for (int i = 0; i < reals; ++i) r[i] = permute(r[i], call_.permutation);
      ghost_.store(index, slot, h);
    }
  }

  /// Puts the received lanes of ghost block `index` in place.
  TRELLIS_SITE_FN void receive(int index, int slot) const {
    Object h;
    if (call_.permutation != nullptr) h = ghost_.load(index, slot);
    Real* r = reinterpret_cast<Real*>(&h);
    const Scalar* m = message(index, slot);
    for (int i = 0; i < reals; ++i)
      for (int k = 0; k < call_.edge_lane_count; ++k)
        set_lane(r[i], call_.ghost_lanes[k], m[i * call_.edge_lane_count + k]);
    ghost_.store(index, slot, h);
  }

 private:
  static constexpr int reals = int(sizeof(Object) / sizeof(Real));

  TRELLIS_SITE_FN Scalar* message(int index, int slot) const {
    return static_cast<Scalar*>(call_.message) +
           (size_t(index) * call_.slots + slot) * reals * call_.edge_lane_count;
  }

  LaneFaceCall call_;
  GhostView ghost_, whole_;  ///< whole_ is the message where all lanes leave
};

}  // namespace trellis
