// instantiate: STORAGE=double,float
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/contract/baryon_products.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_octet_products(const OctetProductsCall& call, const SiteRange& blocks) {
  cuda::for_each_site(blocks, 1, OctetProducts<Layout, Storage>(call));
}
template <class Layout, class Storage>
void launch_projected_products(const ProjectedProductsCall& call, const SiteRange& blocks) {
  cuda::for_each_site(blocks, 1, ProjectedProducts<Layout, Storage>(call));
}

template void launch_octet_products<InstantiatedLayout, InstantiatedStorage>(const OctetProductsCall&,
                                                                             const SiteRange&);
template void launch_projected_products<InstantiatedLayout, InstantiatedStorage>(const ProjectedProductsCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
