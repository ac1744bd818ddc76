// instantiate: BACKEND=cuda
#include "trellis/kernels/gauge/rectangle_links.hpp"

#include "trellis/device/launch_links.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout>
void launch_rectangle_links(const GaugeForceCall& call, const SiteRange& inner_blocks) {
  launch::for_each_link<2>(inner_blocks, RectangleLinkForce<Layout>(call));
}

template void launch_rectangle_links<InstantiatedLayout>(const GaugeForceCall&, const SiteRange&);

}  // namespace trellis
