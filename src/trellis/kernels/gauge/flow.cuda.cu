// instantiate: STORAGE=double
#include "trellis/kernels/gauge/flow.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_flow_stage(const FlowStageCall& call, const SiteRange& inner_blocks) {
  const FlowStage<Layout, Storage> kernel(call);
  cuda::for_each_site(inner_blocks, 1, kernel);
}

template void launch_flow_stage<InstantiatedLayout, InstantiatedStorage>(const FlowStageCall&,
                                                                         const SiteRange&);

}  // namespace trellis
