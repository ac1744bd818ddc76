// instantiate: BACKEND=cpu STORAGE=double,float LANES=1
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/coarse_transfer.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_coarse_products(const CoarseProductsCall& call, const SiteRange& groups) {
  using Kernel = CoarseProducts<Layout, Storage>;
  launch::for_each_site(groups, Kernel::slots(call.vectors, call.rhs), Kernel(call));
}
template <class Layout, class Storage>
void launch_coarse_prolong(const CoarseProlongCall& call, const SiteRange& sites) {
  using Kernel = CoarseProlong<Layout, Storage>;
  launch::for_each_site(sites, Kernel::slots(call.reals, call.rhs), Kernel(call));
}
template <class Layout, class Storage>
void launch_coarse_mix(const CoarseMixCall& call, const SiteRange& sites) {
  using Kernel = CoarseMix<Layout, Storage>;
  launch::for_each_site(sites, Kernel::slots(call.reals), Kernel(call));
}

template void launch_coarse_products<InstantiatedLayout, InstantiatedStorage>(const CoarseProductsCall&,
                                                                              const SiteRange&);
template void launch_coarse_prolong<InstantiatedLayout, InstantiatedStorage>(const CoarseProlongCall&,
                                                                             const SiteRange&);
template void launch_coarse_mix<InstantiatedLayout, InstantiatedStorage>(const CoarseMixCall&,
                                                                         const SiteRange&);

}  // namespace trellis
