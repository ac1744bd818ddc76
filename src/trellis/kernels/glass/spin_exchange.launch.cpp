// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/glass/spin_exchange.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_spin_exchange(const SpinExchangeCall& call, const SiteRange& blocks) {
  launch::for_each_site(blocks, SpinExchange<Layout, Storage>(call));
}

template void launch_spin_exchange<InstantiatedLayout, InstantiatedStorage>(const SpinExchangeCall&,
                                                                            const SiteRange&);

}  // namespace trellis
