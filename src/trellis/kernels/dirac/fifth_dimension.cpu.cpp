// instantiate: STORAGE=double,float,Half LANES=1,4,8,16
#include "trellis/kernels/dirac/fifth_dimension.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites) {
  const FifthDimension<Layout, Storage> kernel(call);
  cpu::for_each_site(sites, [&](int block) {
    for (int rhs = 0; rhs < call.rhs; ++rhs) kernel(block, rhs);
  });
}

template void launch_fifth_dimension<InstantiatedLayout, InstantiatedStorage>(const FifthDimensionCall&,
                                                                              const SiteRange&);

}  // namespace trellis
