// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/aggregate_products.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Kernel>
void run(const AggregateProductsCall& call, const SiteRange& groups) {
  launch::for_each_site(groups, Kernel::slots(call.vectors, call.is_chiral), Kernel(call));
}
}  // namespace

template <class Layout, class Storage>
void launch_aggregate_products(const AggregateProductsCall& call, const SiteRange& groups) {
  call.is_in_double ? run<AggregateProducts<Layout, Storage, double>>(call, groups)
                    : run<AggregateProducts<Layout, Storage, Storage>>(call, groups);
}
template <class Layout, class Storage>
void launch_mix_columns(const MixColumnsCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, MixColumns<Layout, Storage>(call));
}

template void launch_aggregate_products<InstantiatedLayout, InstantiatedStorage>(const AggregateProductsCall&,
                                                                                 const SiteRange&);
template void launch_mix_columns<InstantiatedLayout, InstantiatedStorage>(const MixColumnsCall&,
                                                                          const SiteRange&);

}  // namespace trellis
