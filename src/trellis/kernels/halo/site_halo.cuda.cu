// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/site_halo.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage>
struct Pack {
  SiteHaloCopy<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.pack(index, slot); }
};
template <class Layout, class Storage>
struct Unpack {
  SiteHaloCopy<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.unpack(index, slot); }
};
template <class Layout, class Storage>
struct Copy {
  SiteHaloCopy<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.copy(index, slot); }
};
}  // namespace

template <class Layout, class Storage>
void launch_site_halo_pack(const SiteHaloCall& call, const SiteRange& range) {
  cuda::for_each_site(range, call.slots, Pack<Layout, Storage>{SiteHaloCopy<Layout, Storage>(call)});
}
template <class Layout, class Storage>
void launch_site_halo_unpack(const SiteHaloCall& call, const SiteRange& range) {
  cuda::for_each_site(range, call.slots, Unpack<Layout, Storage>{SiteHaloCopy<Layout, Storage>(call)});
}
template <class Layout, class Storage>
void launch_site_halo_copy(const SiteHaloCall& call, const SiteRange& range) {
  cuda::for_each_site(range, call.slots, Copy<Layout, Storage>{SiteHaloCopy<Layout, Storage>(call)});
}

template void launch_site_halo_pack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             const SiteRange&);
template void launch_site_halo_unpack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                               const SiteRange&);
template void launch_site_halo_copy<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             const SiteRange&);

}  // namespace trellis
