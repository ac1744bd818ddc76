// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/site_diagonal.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_site_diagonal(const SiteDiagonalCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, call.slots, SiteDiagonal<Layout, Storage>(call));
}

template void launch_site_diagonal<InstantiatedLayout, InstantiatedStorage>(const SiteDiagonalCall&,
                                                                            const SiteRange&);

}  // namespace trellis
