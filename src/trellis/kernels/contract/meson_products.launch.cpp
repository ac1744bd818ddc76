// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/contract/meson_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_meson_products(const MesonProductsCall& call, const SiteRange& blocks) {
  const MesonProducts<Layout, Storage> kernel(call);
  if (call.components != nullptr) {
    launch::for_each_site(blocks, call.count, ListedMesonProducts<Layout, Storage>{kernel, call.components});
  } else if constexpr (launch::is_on_gpu<Layout>) {
    using Part = PartOfMesonProducts<Layout, Storage>;
    launch::for_each_site(SiteRange(threads_of_parts<Part::parts>(blocks.size())),
                          Part{kernel, blocks.begin, blocks.end});
  } else {
    launch::for_each_site(blocks, kernel);
  }
}

template void launch_meson_products<InstantiatedLayout, InstantiatedStorage>(const MesonProductsCall&,
                                                                             const SiteRange&);

}  // namespace trellis
