// instantiate: STORAGE=double
#include "trellis/kernels/gauge/ape_smearing.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_ape_smearing(const ApeCall& call, const SiteRange& inner_blocks) {
  const ApeSmearing<Layout, Storage> kernel(call);
  cuda::for_each_site(inner_blocks, 1, kernel);
}

template void launch_ape_smearing<InstantiatedLayout, InstantiatedStorage>(const ApeCall&, const SiteRange&);

}  // namespace trellis
