// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/gauge/wilson_loops.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_transport(const TransportCall& call, const SiteRange& inner_blocks) {
  const Transport<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template <class Layout, class Storage>
void launch_loop_trace(const LoopTraceCall& call, const SiteRange& inner_blocks, ExactSum* sum) {
  const LoopTrace<Layout, Storage> kernel(call);
  cpu::reduce_sites<1>(
      inner_blocks, [&](int block) { return kernel(block); }, sum);
}

template void launch_transport<InstantiatedLayout, InstantiatedStorage>(const TransportCall&,
                                                                        const SiteRange&);
template void launch_loop_trace<InstantiatedLayout, InstantiatedStorage>(const LoopTraceCall&,
                                                                         const SiteRange&, ExactSum*);

}  // namespace trellis
