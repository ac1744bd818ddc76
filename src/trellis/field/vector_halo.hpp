#pragma once
/// The halo exchange of hops of colour vectors over one distance: what blocks of one parity need of the other
/// in the directions that ranks split. Buffers and requests are made once.
#include <memory>
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/cost.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/halo/vector_halo.hpp"
#include "trellis/lattice/hop_stencil.hpp"

namespace trellis {

class VectorHalo {
 public:
  /// For fields of the links' storage and layout with `rhs` right-hand sides; parity: of the receivers.
  VectorHalo(HopStencilPtr stencil, const HopLinks& links, int parity, int rhs);

  /// Messages and launches of an exchange.
  static Cost cost(const HopStencil& stencil, Precision precision, int parity, int rhs);

  bool is_needed() const { return !legs_.empty(); }
  /// Packs the sources in `in` and starts the messages. @pre links of the storage given at construction
  void start(const SpinorField& in, const HopLinks& links);
  /// Waits; the ghosts are then complete.
  void finish();
  /// Ghost buffer of a leg (null data where the direction is not split).
  RawField ghost(int leg) const;

 private:
  struct Leg {
    int leg;
    int message;  ///< its number among the messages
    KernelTable<int32_t> sources, first, deliveries, arrivals;
    Memory ghost;
  };
  VectorFaceCall face_call(const Leg& leg) const;
  HopStencilPtr stencil_;
  Precision precision_;
  Backend backend_;
  int parity_, rhs_;
  std::vector<Leg> legs_;
  HaloMessages messages_;
};

}  // namespace trellis
