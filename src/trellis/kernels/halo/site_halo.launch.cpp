// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/site_halo.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage>
struct CopySites {
  SiteHaloCopy<Layout, Storage> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.copy(index, slot); }
};
}  // namespace

template <class Layout, class Storage>
void launch_site_halo_pack(const SiteHaloCall& call, const SiteRange& range) {
  using Face = SiteHaloCopy<Layout, Storage>;
  launch::for_each_site(range, call.slots, PackFace<Face>{Face(call)});
}
template <class Layout, class Storage>
void launch_site_halo_unpack(const SiteHaloCall& call, const SiteRange& range) {
  using Face = SiteHaloCopy<Layout, Storage>;
  launch::for_each_site(range, call.slots, UnpackFace<Face>{Face(call)});
}
template <class Layout, class Storage>
void launch_site_halo_copy(const SiteHaloCall& call, const SiteRange& range) {
  launch::for_each_site(range, call.slots, CopySites<Layout, Storage>{SiteHaloCopy<Layout, Storage>(call)});
}

template void launch_site_halo_pack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             const SiteRange&);
template void launch_site_halo_unpack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                               const SiteRange&);
template void launch_site_halo_copy<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             const SiteRange&);

}  // namespace trellis
