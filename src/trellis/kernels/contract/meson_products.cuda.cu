// instantiate: STORAGE=double,float
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/contract/meson_products.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_meson_products(const MesonProductsCall& call, const SiteRange& blocks) {
  cuda::for_each_site(blocks, 1, MesonProducts<Layout, Storage>(call));
}

template void launch_meson_products<InstantiatedLayout, InstantiatedStorage>(const MesonProductsCall&,
                                                                             const SiteRange&);

}  // namespace trellis
