// instantiate: STORAGE=double LANES=1,4,8,16
#include "trellis/kernels/gauge/rectangle_force.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_stored_staples(const RectangleForceCall& call, const SiteRange& inner_blocks) {
  const StoredStaples<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template <class Layout, class Storage>
void launch_rectangle_force(const RectangleForceCall& call, const SiteRange& inner_blocks) {
  const RectangleForce<Layout, Storage> kernel(call);
  cpu::for_each_site(inner_blocks, [&](int block) { kernel(block); });
}

template void launch_stored_staples<InstantiatedLayout, InstantiatedStorage>(const RectangleForceCall&,
                                                                             const SiteRange&);
template void launch_rectangle_force<InstantiatedLayout, InstantiatedStorage>(const RectangleForceCall&,
                                                                              const SiteRange&);

}  // namespace trellis
