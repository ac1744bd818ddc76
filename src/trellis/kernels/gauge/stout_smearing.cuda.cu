// instantiate: STORAGE=double,float
#include "trellis/kernels/gauge/stout_smearing.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_stout_smearing(const StoutCall& call, const SiteRange& inner_blocks) {
  const StoutSmearing<Layout, Storage> kernel(call);
  cuda::for_each_site(inner_blocks, 1, kernel);
}

template void launch_stout_smearing<InstantiatedLayout, InstantiatedStorage>(const StoutCall&,
                                                                             const SiteRange&);

}  // namespace trellis
