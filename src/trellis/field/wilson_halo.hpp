#pragma once
/// The halo exchange of the Wilson hop: half spinors of the faces in the directions that ranks split. Buffers
/// and requests are made once; start() packs and sends, finish() waits and completes the ghost blocks.
#include <memory>
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/halo/wilson_halo.hpp"

namespace trellis {

class WilsonHalo {
 public:
  /// For fields of the links' storage and layout with `rhs` right-hand sides.
  WilsonHalo(std::shared_ptr<const HopLinks> links, int rhs);

  bool is_needed() const { return !legs_.empty(); }
  /// Packs the faces of `in` and starts the messages.
  void start(const SpinorField& in, int in_parity, bool is_dagger);
  /// Waits; the ghosts are then complete.
  void finish();
  /// Ghost buffer of a leg (null data where the direction is not split).
  RawField ghost(int leg) const;
  double message_bytes() const { return double(messages_.bytes_sent()); }  ///< per exchange

 private:
  struct Leg {
    int leg;
    bool receives_in_place;  ///< the message is the ghost buffer itself
    int message;             ///< its number among the messages
    std::vector<int32_t> edge_lanes, ghost_lanes;
    KernelTable<int32_t> edge_table, ghost_table;  ///< these for kernels
    KernelTable<int32_t> face[2];                  ///< blocks of the sender's face by its parity
    Memory ghost;
  };
  WilsonFaceCall face_call(const Leg& leg) const;
  std::shared_ptr<const HopLinks> links_;
  int rhs_;
  std::vector<Leg> legs_;
  HaloMessages messages_;
};

}  // namespace trellis
