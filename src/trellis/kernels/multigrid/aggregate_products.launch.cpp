// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/aggregate_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_aggregate_products(const AggregateProductsCall& call, const SiteRange& groups) {
  using Kernel = AggregateProducts<Layout, Storage, double>;
  launch::for_each_site(groups, Kernel::slots(call.vectors, call.is_chiral), Kernel(call));
}
template <class Layout, class Storage>
void launch_mix_columns(const MixColumnsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, MixColumns<Layout, Storage>(call));
}

template void launch_aggregate_products<InstantiatedLayout, InstantiatedStorage>(const AggregateProductsCall&, const SiteRange&);
template void launch_mix_columns<InstantiatedLayout, InstantiatedStorage>(const MixColumnsCall&, const SiteRange&);

}  // namespace trellis
