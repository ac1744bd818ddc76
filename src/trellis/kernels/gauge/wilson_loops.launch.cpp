// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/wilson_loops.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_transport(const TransportCall& call, const SiteRange& inner_blocks) {
  const Transport<Layout, Storage> kernel(call);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_loop_trace(const LoopTraceCall& call, const SiteRange& inner_blocks, ExactSum* sum) {
  const LoopTrace<Layout, Storage> kernel(call);
  launch::reduce_sites<1>(inner_blocks, kernel, sum);
}

template void launch_transport<InstantiatedLayout, InstantiatedStorage>(const TransportCall&,
                                                                        const SiteRange&);
template void launch_loop_trace<InstantiatedLayout, InstantiatedStorage>(const LoopTraceCall&,
                                                                         const SiteRange&, ExactSum*);

}  // namespace trellis
