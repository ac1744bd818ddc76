#pragma once
/// The halo exchange of the Wilson hop moves half spinors of the faces in the directions that ranks split.
#include <memory>

#include "trellis/field/hop_links.hpp"
#include "trellis/field/lane_faces.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/halo/wilson_halo.hpp"

namespace trellis {

class WilsonHalo {
 public:
  /// Serves fields of the links' storage and layout with `rhs` right-hand sides.
  WilsonHalo(std::shared_ptr<const HopLinks> links, int rhs);

  /// Returns the cost of messages and launches of an exchange.
  static Cost cost(const HopLinks& links, int rhs);

  /// Returns true where a hop packs its faces and waits for those of others in its own launch: it takes
  /// begin_with_flags() in place of start() and finish(). @pre is_needed()
  bool has_flags() const { return faces_.has_flags(); }
  struct Flagged {
    WilsonFacesCall faces;
    HaloFlags flags;
  };
  /// Begins such an exchange of `in`; ghost() is valid from here on.
  Flagged begin_with_flags(const SpinorField& in, int in_parity, bool is_dagger);

  bool is_needed() const { return faces_.is_needed(); }
  /// Packs the faces of `in` and starts the messages.
  void start(const SpinorField& in, int in_parity, bool is_dagger);
  /// Waits; the ghosts are then complete.
  void finish();
  /// Returns the ghost buffer of a leg (null data where the direction is not split), from finish() until the
  /// next start().
  RawField ghost(int leg) const { return faces_.ghost(leg); }

 private:
  WilsonFacesCall call(const LaneFaceCalls& faces, const SpinorField& in, int in_parity,
                       bool is_dagger) const;
  std::shared_ptr<const HopLinks> links_;
  int rhs_;
  LaneFaces faces_;
};

}  // namespace trellis
