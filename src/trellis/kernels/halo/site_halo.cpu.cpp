// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/halo/site_halo.hpp"

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_site_halo_pack(const SiteHaloCall& call, const SiteRange& range) {
  const SiteHaloCopy<Layout, Storage> kernel(call);
  cpu::for_each_site(range, [&](int index) {
    for (int slot = 0; slot < call.slots; ++slot) kernel.pack(index, slot);
  });
}

template <class Layout, class Storage>
void launch_site_halo_unpack(const SiteHaloCall& call, const SiteRange& range) {
  const SiteHaloCopy<Layout, Storage> kernel(call);
  cpu::for_each_site(range, [&](int index) {
    for (int slot = 0; slot < call.slots; ++slot) kernel.unpack(index, slot);
  });
}

template <class Layout, class Storage>
void launch_site_halo_copy(const SiteHaloCall& call, const SiteRange& range) {
  const SiteHaloCopy<Layout, Storage> kernel(call);
  cpu::for_each_site(range, [&](int index) {
    for (int slot = 0; slot < call.slots; ++slot) kernel.copy(index, slot);
  });
}

template void launch_site_halo_pack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             const SiteRange&);
template void launch_site_halo_unpack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                               const SiteRange&);
template void launch_site_halo_copy<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             const SiteRange&);

}  // namespace trellis
