// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double
#include "trellis/kernels/source/direction_hop.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_direction_hop(const DirectionHopCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, call.slots, DirectionHop<Layout, Storage>(call));
}

template void launch_direction_hop<InstantiatedLayout, InstantiatedStorage>(const DirectionHopCall&,
                                                                            const SiteRange&);

}  // namespace trellis
