#pragma once
/// The halo exchange of full spinors serves covariant sums without spin structure
/// (kernels/source/covariant_hop.hpp): ghosts of the forward legs are psi, those of the backward legs
/// U^dagger psi.
#include <memory>

#include "trellis/field/hop_links.hpp"
#include "trellis/field/lane_faces.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/source/covariant_hop.hpp"

namespace trellis {

class SpinorHalo {
 public:
  /// Serves fields of the links' layout with `rhs` right-hand sides, in directions 0..directions-1.
  /// @pre the links are in double with 18 reals
  SpinorHalo(std::shared_ptr<const HopLinks> links, int rhs, int directions = Nd);

  bool is_needed() const { return faces_.is_needed(); }
  void start(const SpinorField& in, int in_parity);
  void finish();
  /// Returns the ghost buffer of a leg (null data where the direction is not split), from finish() until the
  /// next start().
  RawField ghost(int leg) const { return faces_.ghost(leg); }
  size_t bytes() const { return faces_.bytes_held(); }

 private:
  std::shared_ptr<const HopLinks> links_;
  int rhs_;
  LaneFaces faces_;
};

}  // namespace trellis
