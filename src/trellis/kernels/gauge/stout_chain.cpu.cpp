// instantiate: STORAGE=double,float LANES=1,4,8,16
#include "trellis/kernels/gauge/stout_chain.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_stout_chain_link(const StoutChainCall& call, const SiteRange& inner_blocks) {
  const StoutChainLink<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template <class Layout, class Storage>
void launch_stout_chain_staples(const StoutChainCall& call, const SiteRange& inner_blocks) {
  const StoutChainStaples<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template void launch_stout_chain_link<InstantiatedLayout, InstantiatedStorage>(const StoutChainCall&,
                                                                               const SiteRange&);
template void launch_stout_chain_staples<InstantiatedLayout, InstantiatedStorage>(const StoutChainCall&,
                                                                                  const SiteRange&);

}  // namespace trellis
