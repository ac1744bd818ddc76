// instantiate: BACKEND=cuda
#include "trellis/kernels/gauge/polyakov_lines.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout>
void launch_polyakov_lines(const PolyakovLinesCall& call) {
  launch::for_each_site(SiteRange(call.lines), PolyakovLines<Layout>(call));
}

template <class Layout>
void launch_polyakov_traces(const PolyakovLinesCall& call, ExactSum* sums) {
  launch::reduce_sites<2>(SiteRange(call.lines), PolyakovTrace{call.products, call.lines}, sums);
}

template void launch_polyakov_lines<InstantiatedLayout>(const PolyakovLinesCall&);
template void launch_polyakov_traces<InstantiatedLayout>(const PolyakovLinesCall&, ExactSum*);

}  // namespace trellis
