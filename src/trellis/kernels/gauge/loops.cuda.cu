// instantiate: STORAGE=double
#include "trellis/kernels/gauge/loops.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_plaquette_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sums) {
  call.has_all() ? cuda::reduce_sites<2>(inner_blocks, PlaquetteSum<Layout, Storage, true>(call), sums)
                 : cuda::reduce_sites<2>(inner_blocks, PlaquetteSum<Layout, Storage, false>(call), sums);
}

template <class Layout, class Storage>
void launch_rectangle_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sum) {
  call.has_all() ? cuda::reduce_sites<1>(inner_blocks, RectangleSum<Layout, Storage, true>(call), sum)
                 : cuda::reduce_sites<1>(inner_blocks, RectangleSum<Layout, Storage, false>(call), sum);
}

template <class Layout, class Storage>
void launch_link_trace_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sum) {
  call.has_all() ? cuda::reduce_sites<1>(inner_blocks, LinkTraceSum<Layout, Storage, true>(call), sum)
                 : cuda::reduce_sites<1>(inner_blocks, LinkTraceSum<Layout, Storage, false>(call), sum);
}

template <class Layout, class Storage>
double launch_unitarity_violation(const GaugeCall& call, const SiteRange& inner_blocks) {
  const UnitarityViolation<Layout, Storage> kernel(call);
  return cuda::maximum_over_sites(inner_blocks, kernel);
}

template void launch_plaquette_sum<InstantiatedLayout, InstantiatedStorage>(const LoopCall&, const SiteRange&,
                                                                            ExactSum*);
template void launch_rectangle_sum<InstantiatedLayout, InstantiatedStorage>(const LoopCall&, const SiteRange&,
                                                                            ExactSum*);
template void launch_link_trace_sum<InstantiatedLayout, InstantiatedStorage>(const LoopCall&,
                                                                             const SiteRange&, ExactSum*);
template double launch_unitarity_violation<InstantiatedLayout, InstantiatedStorage>(const GaugeCall&,
                                                                                    const SiteRange&);

}  // namespace trellis
