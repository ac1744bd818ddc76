// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/contract/baryon_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_octet_products(const OctetProductsCall& call, const SiteRange& blocks) {
  const OctetProducts<Layout, Storage> kernel(call);
  if constexpr (launch::is_on_gpu<Layout>) {
    using Part = PartOfOctetProducts<Layout, Storage>;
    if (call.pairing[2] != 2)
      return launch::for_each_site(SiteRange(threads_of_parts<Part::parts>(blocks.size())),
                                   Part{kernel, blocks.begin, blocks.end});
  }
  launch::for_each_site(blocks, kernel);
}
template <class Layout, class Storage>
void launch_projected_products(const ProjectedProductsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, ProjectedProducts<Layout, Storage>(call));
}

template void launch_octet_products<InstantiatedLayout, InstantiatedStorage>(const OctetProductsCall&,
                                                                             const SiteRange&);
template void launch_projected_products<InstantiatedLayout, InstantiatedStorage>(const ProjectedProductsCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
