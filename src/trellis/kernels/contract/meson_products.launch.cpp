// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/contract/meson_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_meson_products(const MesonProductsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, MesonProducts<Layout, Storage>(call));
}

template void launch_meson_products<InstantiatedLayout, InstantiatedStorage>(const MesonProductsCall&,
                                                                             const SiteRange&);

}  // namespace trellis
