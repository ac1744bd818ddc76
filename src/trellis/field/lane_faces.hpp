#pragma once
/// Faces are exchanged in lanes (kernels/halo/lane_face.hpp): the halos of the Wilson hop and of full spinors
/// share this. It knows no links: what moves is what the caller packs. Buffers and requests are made once;
/// start() packs and sends, finish() waits and completes the ghost blocks.
#include <functional>
#include <memory>
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/cost.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/field/lattice.hpp"
#include "trellis/kernels/halo/lane_face.hpp"

namespace trellis {

/// So many reals move along a leg.
struct LegReals {
  int forward, backward;
};

class LaneFaces {
 public:
  /// Serves objects of `reals` reals of `scalar_bytes` each, in the directions 0..directions-1 that ranks
  /// split. A halo of a hop can have flags. Collective. @pre the layout is one of the communicator's lattice,
  /// with even local extents
  LaneFaces(SiteLayoutPtr layout, Backend backend, Communicator& communicator, int rhs, LegReals reals,
            size_t scalar_bytes, int directions = Nd, bool is_of_hop = false);

  /// Returns messages and launches of an exchange for such links and objects, which needs no other rank to
  /// know.
  static Cost cost(const SiteLayout& layout, Backend backend, int rhs, LegReals reals, size_t scalar_bytes,
                   int directions = Nd);

  bool is_needed() const { return !legs_.empty(); }
  /// Runs pack(calls), which packs the faces of all legs, and sends what it wrote. `parity` is that of the
  /// sender.
  void start(int parity, const std::function<void(const LaneFaceCalls&)>& pack);
  /// Returns true where one launch packs the faces, computes and waits; it takes begin_with_flags() in place
  /// of start() and finish(). @pre is_needed()
  bool has_flags() const { return messages_.has_flags(); }
  struct Flagged {
    LaneFaceCalls faces;
    HaloFlags flags;
  };
  /// Begins such an exchange; ghost() is valid from here on. `parity` is that of the sender.
  Flagged begin_with_flags(int parity);
  /// Waits, then runs unpack(call, blocks) for each leg whose ghosts are not the messages themselves.
  void finish(const std::function<void(const LaneFaceCall&, const SiteRange&)>& unpack);

  /// Returns the ghost buffer of a leg (null data where the direction is not split), from finish() until the
  /// next start().
  RawField ghost(int leg) const;
  size_t bytes_held() const;

 private:
  struct Leg {
    int leg;
    bool receives_in_place;  ///< the message is the ghost buffer
    int part;                ///< it is the number among the parts of the halo
    std::vector<int32_t> edge_lanes, ghost_lanes;
    KernelTable<int32_t> edge_table, ghost_table;  ///< kernels take these
    KernelTable<int32_t> face[2];                  ///< it has the blocks of the sender's face by its parity
    Memory ghost;
  };
  LaneFaceCall call(const Leg& leg) const;
  /// Returns the faces of all legs. @pre an exchange begins: buffers of messages are known
  LaneFaceCalls faces_to_pack(int parity);

  SiteLayoutPtr layout_;
  int rhs_;
  std::vector<Leg> legs_;
  HaloMessages messages_;
};

}  // namespace trellis
