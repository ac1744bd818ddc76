// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double,float
#include "trellis/kernels/gauge/stout_smearing.hpp"

#include "trellis/device/launch_links.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_stout_smearing(const StoutCall& call, const SiteRange& inner_blocks) {
  if constexpr (launch::is_on_gpu<Layout>)
    launch::for_each_link<3>(inner_blocks, StoutSmearing<Layout, Storage>(call));
  else
    launch::for_each_site_of_links<Layout, Storage>(call.gauge, inner_blocks, [&](int blocks_ahead) {
      StoutCall asking = call;
      asking.gauge.links.blocks_ahead = blocks_ahead;
      return StoutSmearing<Layout, Storage>(asking);
    });
}

template void launch_stout_smearing<InstantiatedLayout, InstantiatedStorage>(const StoutCall&,
                                                                             const SiteRange&);

}  // namespace trellis
