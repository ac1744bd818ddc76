// instantiate: STORAGE=double,float,Half
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/dirac/twisted_clover.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_twisted_clover(const TwistedCloverCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.slots, TwistedClover<Layout, Storage>(call));
}

template void launch_twisted_clover<InstantiatedLayout, InstantiatedStorage>(const TwistedCloverCall&,
                                                                             const SiteRange&);

}  // namespace trellis
