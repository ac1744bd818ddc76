// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/loops.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <size_t N, class Layout, class Storage, class Kernel>
void sum_links(const Kernel& kernel, const LoopCall& call, const SiteRange& blocks, ExactSum* sums) {
  launch::reduce_sites_of_links<N, Layout, Storage>(call, launch::Reach::forward, blocks, kernel, sums);
}
}  // namespace

template <class Layout, class Storage>
void launch_plaquette_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sums) {
  call.has_all()
      ? sum_links<2, Layout, Storage>(PlaquetteSum<Layout, Storage, true>(call), call, inner_blocks, sums)
      : sum_links<2, Layout, Storage>(PlaquetteSum<Layout, Storage, false>(call), call, inner_blocks, sums);
}

template <class Layout, class Storage>
void launch_rectangle_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sum) {
  call.has_all()
      ? sum_links<1, Layout, Storage>(RectangleSum<Layout, Storage, true>(call), call, inner_blocks, sum)
      : sum_links<1, Layout, Storage>(RectangleSum<Layout, Storage, false>(call), call, inner_blocks, sum);
}

template <class Layout, class Storage>
void launch_link_trace_sum(const LoopCall& call, const SiteRange& inner_blocks, ExactSum* sum) {
  call.has_all() ? launch::reduce_sites<1>(inner_blocks, LinkTraceSum<Layout, Storage, true>(call), sum)
                 : launch::reduce_sites<1>(inner_blocks, LinkTraceSum<Layout, Storage, false>(call), sum);
}

template <class Layout, class Storage>
double launch_unitarity_violation(const GaugeCall& call, const SiteRange& inner_blocks) {
  const UnitarityViolation<Layout, Storage> kernel(call);
  return launch::maximum_over_sites(inner_blocks, kernel);
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
