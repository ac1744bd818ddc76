// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/contract/propagator_sites.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_spin_multiply(const SpinMultiplyCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, call.slots, SpinMultiply<Layout, Storage>(call));
}
template <class Layout, class Storage>
void launch_norm_products(const NormProductsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, NormProducts<Layout, Storage>(call));
}

template void launch_spin_multiply<InstantiatedLayout, InstantiatedStorage>(const SpinMultiplyCall&,
                                                                            const SiteRange&);
template void launch_norm_products<InstantiatedLayout, InstantiatedStorage>(const NormProductsCall&,
                                                                            const SiteRange&);

}  // namespace trellis
