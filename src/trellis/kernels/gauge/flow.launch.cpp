// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/flow.hpp"

#include "trellis/device/launch_links.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_flow_stage(const FlowStageCall& call, const SiteRange& inner_blocks) {
  if constexpr (launch::is_on_gpu<Layout>) {
    if (call.c1 == 0)
      launch::for_each_link<3>(inner_blocks, FlowStage<Layout, Storage, ActionLoops::plaquettes>(call));
    else
      launch::for_each_link<2>(inner_blocks, FlowStage<Layout, Storage>(call));
  } else {
    launch::for_each_site_of_links<Layout, Storage>(call.gauge, inner_blocks, [&](int blocks_ahead) {
      FlowStageCall asking = call;
      asking.gauge.links.blocks_ahead = blocks_ahead;
      return FlowStage<Layout, Storage>(asking);
    });
  }
}

template void launch_flow_stage<InstantiatedLayout, InstantiatedStorage>(const FlowStageCall&,
                                                                         const SiteRange&);

}  // namespace trellis
