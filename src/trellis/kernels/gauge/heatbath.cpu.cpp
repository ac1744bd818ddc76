// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/gauge/heatbath.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_heatbath(const HeatbathCall& call, const SiteRange& blocks_of_one_parity) {
  const HeatbathUpdate<Layout, Storage> kernel(call);
  cpu::for_each_site(blocks_of_one_parity, [&](int block) { kernel(block); });
}

template <class Layout, class Storage>
void launch_overrelaxation(const LinkUpdateCall& call, const SiteRange& blocks_of_one_parity) {
  const OverrelaxationUpdate<Layout, Storage> kernel(call);
  cpu::for_each_site(blocks_of_one_parity, [&](int block) { kernel(block); });
}

template void launch_heatbath<InstantiatedLayout, InstantiatedStorage>(const HeatbathCall&, const SiteRange&);
template void launch_overrelaxation<InstantiatedLayout, InstantiatedStorage>(const LinkUpdateCall&,
                                                                             const SiteRange&);

}  // namespace trellis
