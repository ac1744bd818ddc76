// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/forward_leg.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_forward_leg(const ForwardLegCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, call.slots, ForwardLeg<Layout, Storage>(call));
}

template void launch_forward_leg<InstantiatedLayout, InstantiatedStorage>(const ForwardLegCall&,
                                                                          const SiteRange&);

}  // namespace trellis
