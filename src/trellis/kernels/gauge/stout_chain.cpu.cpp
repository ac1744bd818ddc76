// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/gauge/stout_chain.hpp"

#include "trellis/device/cpu/for_each_group.hpp"
#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_stout_chain_link(const StoutChainCall& call, const SiteRange& inner_blocks) {
  const StoutChainLink<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template <class Layout, class Storage>
void launch_stout_chain_plane(const StoutPlaneCall& call, int slices) {
  const StoutChainPlane<Layout, Storage> kernel(call);
  cpu::for_each_group(slices, [&](int slice, int) { kernel(slice); });
}

template void launch_stout_chain_link<InstantiatedLayout, InstantiatedStorage>(const StoutChainCall&,
                                                                               const SiteRange&);
template void launch_stout_chain_plane<InstantiatedLayout, InstantiatedStorage>(const StoutPlaneCall&, int);

}  // namespace trellis
