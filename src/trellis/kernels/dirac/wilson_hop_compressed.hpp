#pragma once
/// The Wilson hop and its faces take links of 8 reals: they are the same kernels as in wilson_hop.hpp and
/// wilson_halo.hpp, compiled apart.
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/kernels/halo/wilson_halo.hpp"

namespace trellis {

/// Do as launch_wilson_hop and launch_wilson_pack. @pre call.link_reals == 8
template <class Layout, class Storage>
void launch_wilson_hop_compressed(const WilsonHopCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_wilson_pack_compressed(const WilsonFacesCall& call);

}  // namespace trellis
