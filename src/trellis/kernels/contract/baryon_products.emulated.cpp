// instantiate: STORAGE=double,float
#include "trellis/kernels/contract/baryon_products.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_octet_products(const OctetProductsCall& call, const SiteRange& blocks) {
  const OctetProducts<Layout, Storage> kernel(call);
  cpu::for_each_site(blocks, [&](int block) { kernel(block); });
}

template <class Layout, class Storage>
void launch_projected_products(const ProjectedProductsCall& call, const SiteRange& blocks) {
  const ProjectedProducts<Layout, Storage> kernel(call);
  cpu::for_each_site(blocks, [&](int block) { kernel(block); });
}

template void launch_octet_products<InstantiatedLayout, InstantiatedStorage>(const OctetProductsCall&,
                                                                             const SiteRange&);
template void launch_projected_products<InstantiatedLayout, InstantiatedStorage>(const ProjectedProductsCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
