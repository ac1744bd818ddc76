#pragma once
/// Hops of colour vectors exchange this halo: blocks of one parity need it of the other in the directions
/// that ranks split, for hops over one distance or over several, whose faces travel together. Buffers and
/// requests are made once.
#include <memory>
#include <span>
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
  /// Serves fields of the links' storage and layout with `rhs` right-hand sides; `parity` is that of the
  /// receivers. Each stencil has one hop; stencils have different distances.
  VectorHalo(std::vector<HopStencilPtr> stencils, const HopLinks& links, int parity, int rhs, int first = 0,
             int last = Nd - 1);

  /// Returns the cost of messages and launches of an exchange.
  static Cost cost(const std::vector<HopStencilPtr>& stencils, Backend backend, Precision precision,
                   int parity, int rhs);

  bool is_needed() const { return !legs_.empty(); }
  /// Returns true where a hop packs its faces and waits for those of others in its own launch: it takes
  /// begin_with_flags() in place of start() and finish(). @pre is_needed()
  bool has_flags() const { return messages_.has_flags(); }
  struct Flagged {
    VectorFacesCall faces;
    HaloFlags flags;  ///< the legs of hop i are those from 8 i on
  };
  /// Begins such an exchange; ghost() is valid from here on. @pre as start()
  Flagged begin_with_flags(const SpinorField& in, std::span<const HopLinks* const> links);
  /// Packs the sources in `in` and starts the messages. @pre there are links of the storage given at
  /// construction, one for each stencil
  void start(const SpinorField& in, std::span<const HopLinks* const> links);
  /// Waits; the ghosts are then complete.
  void finish();
  /// Returns the ghost buffer of a leg of the hop with this number (null data where the direction is not
  /// split), from finish() until the next start().
  RawField ghost(int hop, int leg) const;

 private:
  struct Leg {
    int hop, leg;
    int part;  ///< it is the number among the parts of the halo
    KernelTable<int32_t> sources, first, deliveries, arrivals;
    Memory ghost;
  };
  VectorFaceCall face_call(const Leg& leg) const;
  /// Returns all faces. @pre an exchange begins: buffers of messages are known
  VectorFacesCall faces_to_pack(const SpinorField& in, std::span<const HopLinks* const> links);
  std::vector<HopStencilPtr> stencils_;
  Precision precision_;
  Backend backend_;
  int parity_, rhs_;
  std::vector<Leg> legs_;
  HaloMessages messages_;
};

}  // namespace trellis
