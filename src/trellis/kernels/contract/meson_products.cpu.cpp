// instantiate: STORAGE=double,float LANES=1,4,8,16
#include "trellis/kernels/contract/meson_products.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_meson_products(const MesonProductsCall& call, const SiteRange& blocks) {
  const MesonProducts<Layout, Storage> kernel(call);
  cpu::for_each_site(blocks, [&](int block) { kernel(block); });
}

template void launch_meson_products<InstantiatedLayout, InstantiatedStorage>(const MesonProductsCall&,
                                                                             const SiteRange&);

}  // namespace trellis
