// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/coarse_lanes.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_coarse_lanes(const CoarseLanesCall& call, bool is_gathering, const SiteRange& sites) {
  if (is_gathering)
    launch::for_each_site(sites, call.slots, CoarseLanes<Layout, Storage, true>(call));
  else
    launch::for_each_site(sites, call.slots, CoarseLanes<Layout, Storage, false>(call));
}

template void launch_coarse_lanes<InstantiatedLayout, InstantiatedStorage>(const CoarseLanesCall&, bool,
                                                                           const SiteRange&);

}  // namespace trellis
