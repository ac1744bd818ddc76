// instantiate: STORAGE=double
#include "trellis/kernels/halo/link_halo.hpp"

#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage>
struct Pack {
  LinkFace<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.pack(index, slot); }
};
template <class Layout, class Storage>
struct Unpack {
  LinkFace<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.unpack(index, slot); }
};
}  // namespace

template <class Layout, class Storage>
void launch_link_pack(const LinkFaceCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.count, Pack<Layout, Storage>{LinkFace<Layout, Storage>(call)});
}
template <class Layout, class Storage>
void launch_link_unpack(const LinkFaceCall& call, const SiteRange& sites) {
  cuda::for_each_site(sites, call.count, Unpack<Layout, Storage>{LinkFace<Layout, Storage>(call)});
}

template void launch_link_pack<InstantiatedLayout, InstantiatedStorage>(const LinkFaceCall&,
                                                                        const SiteRange&);
template void launch_link_unpack<InstantiatedLayout, InstantiatedStorage>(const LinkFaceCall&,
                                                                          const SiteRange&);

}  // namespace trellis
