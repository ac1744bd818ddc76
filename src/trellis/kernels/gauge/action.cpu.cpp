// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/gauge/action.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_gauge_force(const GaugeForceCall& call, const SiteRange& inner_blocks) {
  const GaugeForce<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template void launch_gauge_force<InstantiatedLayout, InstantiatedStorage>(const GaugeForceCall&,
                                                                          const SiteRange&);

}  // namespace trellis
