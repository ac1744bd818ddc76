#pragma once
/// The halo exchange of full spinors, for covariant sums without spin structure
/// (kernels/source/covariant_hop.hpp): ghosts of the forward legs are psi, those of the backward legs
/// U^dagger psi. Buffers and requests are made once.
#include <memory>
#include <vector>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/source/covariant_hop.hpp"

namespace trellis {

class SpinorHalo {
 public:
  /// For fields of the links' layout with `rhs` right-hand sides; directions 0..directions-1.
  /// @pre links in double with 18 reals
  SpinorHalo(std::shared_ptr<const HopLinks> links, int rhs, int directions = Nd);

  bool is_needed() const { return !legs_.empty(); }
  void start(const SpinorField& in, int in_parity);
  void finish();
  /// Ghost buffer of a leg (null data where the direction is not split).
  RawField ghost(int leg) const;
  size_t bytes() const;

 private:
  struct Leg {
    int leg;
    bool receives_in_place;
    int message;
    std::vector<int32_t> edge_lanes, ghost_lanes;
    KernelTable<int32_t> edge_table, ghost_table, face[2];  ///< for kernels; faces by the sender's parity
    Memory ghost;
  };
  SpinorFaceCall face_call(const Leg& leg) const;
  std::shared_ptr<const HopLinks> links_;
  int rhs_;
  std::vector<Leg> legs_;
  HaloMessages messages_;
};

}  // namespace trellis
