// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double
#include "trellis/kernels/source/normal_field.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_normal_field(const NormalFieldCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, call.slots, NormalField<Layout, Storage>(call));
}

template void launch_normal_field<InstantiatedLayout, InstantiatedStorage>(const NormalFieldCall&,
                                                                           const SiteRange&);

}  // namespace trellis
