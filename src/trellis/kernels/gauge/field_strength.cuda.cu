// instantiate: STORAGE=double
#include "trellis/kernels/gauge/field_strength.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_field_strength_sum(const GaugeCall& call, LeafShape shape, const SiteRange& inner_blocks,
                               ExactSum* sums) {
  const FieldStrengthSum<Layout, Storage> kernel(call, shape);
  cuda::reduce_sites<2>(inner_blocks, kernel, sums);
}

template void launch_field_strength_sum<InstantiatedLayout, InstantiatedStorage>(const GaugeCall&, LeafShape,
                                                                                 const SiteRange&, ExactSum*);

}  // namespace trellis
