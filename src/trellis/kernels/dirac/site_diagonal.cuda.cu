// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/dirac/site_diagonal.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_site_diagonal(const SiteDiagonalCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.slots, SiteDiagonal<Layout, Storage>(call));
}

template void launch_site_diagonal<InstantiatedLayout, InstantiatedStorage>(const SiteDiagonalCall&,
                                                                            const SiteRange&);

}  // namespace trellis
