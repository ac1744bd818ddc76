#pragma once
/// The staggered hop packs its faces, computes and waits for the faces of other ranks in one launch, on GPUs
/// (view/halo_flags.hpp).
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/kernels/halo/vector_halo.hpp"
#include "trellis/view/halo_flags.hpp"

namespace trellis {

/// Computes as launch_staggered_hop does on both ranges, without energies. The longer hops have legs 8 to 15.
/// @pre the ranges have lists
template <class Layout, class Storage>
void launch_staggered_hop_fused(const StaggeredHopCall& call, const VectorFacesCall& faces,
                                const HaloFlags& flags, const SiteRange& inner, const SiteRange& border);

}  // namespace trellis
