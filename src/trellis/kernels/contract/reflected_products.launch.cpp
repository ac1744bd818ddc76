// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double
#include "trellis/kernels/contract/reflected_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_reflected_products(const ReflectedProductsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, ReflectedProducts<Layout, Storage>(call));
}
template <class Layout, class Storage>
void launch_site_numbers(const RawField& field, const ProductBuffer& out, const SiteRange& blocks) {
  launch::for_each_site(
      blocks, SiteNumbers<Layout, Storage>{SiteArray<Layout, Storage, 2>(field), out, blocks.begin});
}

template void launch_site_numbers<InstantiatedLayout, InstantiatedStorage>(const RawField&,
                                                                           const ProductBuffer&,
                                                                           const SiteRange&);
template void launch_reflected_products<InstantiatedLayout, InstantiatedStorage>(const ReflectedProductsCall&,
                                                                                 const SiteRange&);

}  // namespace trellis
