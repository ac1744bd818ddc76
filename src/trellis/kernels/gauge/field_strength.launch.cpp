// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/field_strength.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_field_strength_sum(const GaugeCall& call, LeafShape shape, const SiteRange& inner_blocks,
                               ExactSum* sums) {
  const FieldStrengthSum<Layout, Storage> kernel(call, shape);
  launch::reduce_sites_of_links<2, Layout, Storage>(call, launch::Reach::around, inner_blocks, kernel, sums);
}

template void launch_field_strength_sum<InstantiatedLayout, InstantiatedStorage>(const GaugeCall&, LeafShape,
                                                                                 const SiteRange&, ExactSum*);

}  // namespace trellis
