// instantiate: STORAGE=double
#include "trellis/kernels/gauge/heatbath.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_heatbath(const HeatbathCall& call, const SiteRange& blocks_of_one_parity) {
  const HeatbathUpdate<Layout, Storage> kernel(call);
  cuda::for_each_site(blocks_of_one_parity, 1, kernel);
}

template <class Layout, class Storage>
void launch_overrelaxation(const LinkUpdateCall& call, const SiteRange& blocks_of_one_parity) {
  const OverrelaxationUpdate<Layout, Storage> kernel(call);
  cuda::for_each_site(blocks_of_one_parity, 1, kernel);
}

template void launch_heatbath<InstantiatedLayout, InstantiatedStorage>(const HeatbathCall&, const SiteRange&);
template void launch_overrelaxation<InstantiatedLayout, InstantiatedStorage>(const LinkUpdateCall&,
                                                                             const SiteRange&);

}  // namespace trellis
