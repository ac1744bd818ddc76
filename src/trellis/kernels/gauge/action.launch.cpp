// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double,float
#include "trellis/kernels/gauge/action.hpp"

#include "trellis/device/launch_links.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_gauge_force(const GaugeForceCall& call, const SiteRange& inner_blocks) {
  if constexpr (launch::is_on_gpu<Layout>) {
    if (call.c1 == 0)
      launch::for_each_link<3>(inner_blocks, GaugeForce<Layout, Storage, ActionLoops::plaquettes>(call));
    else
      launch::for_each_link<2>(inner_blocks, GaugeForce<Layout, Storage>(call));
  } else {
    launch::for_each_site_of_links<Layout, Storage>(call.gauge, inner_blocks, [&](int blocks_ahead) {
      GaugeForceCall asking = call;
      asking.gauge.links.blocks_ahead = blocks_ahead;
      return GaugeForce<Layout, Storage>(asking);
    });
  }
}

template void launch_gauge_force<InstantiatedLayout, InstantiatedStorage>(const GaugeForceCall&,
                                                                          const SiteRange&);

}  // namespace trellis
