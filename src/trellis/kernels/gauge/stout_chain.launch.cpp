// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double,float
#include "trellis/kernels/gauge/stout_chain.hpp"

#include "trellis/device/launch_links.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_stout_chain_link(const StoutChainCall& call, const SiteRange& inner_blocks) {
  const StoutChainLink<Layout, Storage> kernel(call);
  if constexpr (launch::is_on_gpu<Layout>)
    launch::for_each_link<2>(inner_blocks, kernel);
  else
    launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_stout_chain_staples(const StoutChainCall& call, const SiteRange& inner_blocks) {
  const StoutChainStaples<Layout, Storage> kernel(call);
  if constexpr (launch::is_on_gpu<Layout>)
    launch::for_each_link<3>(inner_blocks, kernel);
  else
    launch::for_each_site(inner_blocks, kernel);
}

template void launch_stout_chain_link<InstantiatedLayout, InstantiatedStorage>(const StoutChainCall&,
                                                                               const SiteRange&);
template void launch_stout_chain_staples<InstantiatedLayout, InstantiatedStorage>(const StoutChainCall&,
                                                                                  const SiteRange&);

}  // namespace trellis
