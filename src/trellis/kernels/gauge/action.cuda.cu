// instantiate: STORAGE=double,float
#include "trellis/kernels/gauge/action.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_gauge_force(const GaugeForceCall& call, const SiteRange& inner_blocks) {
  const GaugeForce<Layout, Storage> kernel(call);
  cuda::for_each_site(inner_blocks, 1, kernel);
}

template void launch_gauge_force<InstantiatedLayout, InstantiatedStorage>(const GaugeForceCall&,
                                                                          const SiteRange&);

}  // namespace trellis
