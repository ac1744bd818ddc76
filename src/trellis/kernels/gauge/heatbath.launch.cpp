// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/heatbath.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_heatbath(const HeatbathCall& call, const SiteRange& blocks_of_one_parity) {
  const auto make = [&](int blocks_ahead) {
    HeatbathCall asking = call;
    asking.update.gauge.links.blocks_ahead = blocks_ahead;
    return HeatbathUpdate<Layout, Storage>(asking);
  };
  launch::for_each_link_update<Layout, Storage>(call.update.gauge, call.update.mu, blocks_of_one_parity,
                                                make);
}

template <class Layout, class Storage>
void launch_overrelaxation(const LinkUpdateCall& call, const SiteRange& blocks_of_one_parity) {
  const auto make = [&](int blocks_ahead) {
    LinkUpdateCall asking = call;
    asking.gauge.links.blocks_ahead = blocks_ahead;
    return OverrelaxationUpdate<Layout, Storage>(asking);
  };
  launch::for_each_link_update<Layout, Storage>(call.gauge, call.mu, blocks_of_one_parity, make);
}

template void launch_heatbath<InstantiatedLayout, InstantiatedStorage>(const HeatbathCall&, const SiteRange&);
template void launch_overrelaxation<InstantiatedLayout, InstantiatedStorage>(const LinkUpdateCall&,
                                                                             const SiteRange&);

}  // namespace trellis
