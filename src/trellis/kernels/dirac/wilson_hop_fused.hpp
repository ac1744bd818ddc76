#pragma once
/// The Wilson hop packs its faces, computes and waits for the faces of other ranks in one launch, on GPUs
/// (view/halo_flags.hpp).
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/kernels/halo/wilson_halo.hpp"
#include "trellis/view/halo_flags.hpp"

namespace trellis {

/// Computes as launch_wilson_hop does on both ranges, links of 8 reals too. @pre the ranges have lists
template <class Layout, class Storage>
void launch_wilson_hop_fused(const WilsonHopCall& call, const WilsonFacesCall& faces, const HaloFlags& flags,
                             const SiteRange& inner, const SiteRange& border);

}  // namespace trellis
