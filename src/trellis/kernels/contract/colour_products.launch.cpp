// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double
#include "trellis/kernels/contract/colour_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_colour_products(const ColourProductsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, ColourProducts<Layout, Storage>(call));
}

template void launch_colour_products<InstantiatedLayout, InstantiatedStorage>(const ColourProductsCall&,
                                                                              const SiteRange&);

}  // namespace trellis
