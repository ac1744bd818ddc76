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

template <class Face>
struct PackBlocks {
  Face face;
  TRELLIS_SITE_FN void operator()(int group, int slot) const { face.pack_block(group, slot); }
};

template <class Face>
struct UnpackBlocks {
  Face face;
  TRELLIS_SITE_FN void operator()(int group, int slot) const { face.unpack_block(group, slot); }
};

/// Fixed point on a CPU keeps pairs, of which a message has no second ones that do not exist.
template <class Layout, class Storage>
bool moves_blocks(const SiteHaloCall& call) {
  const bool has_gaps = std::is_same_v<Storage, Half> && call.reals % 2 != 0;
  return Layout::lanes > 1 && call.is_in_blocks && !has_gaps;
}
}  // namespace

template <class Layout, class Storage>
void launch_site_halo_pack(const SiteHaloCall& call, const SiteRange& range) {
  using Face = SiteHaloCopy<Layout, Storage>;
  if constexpr (Layout::lanes > 1)
    if (moves_blocks<Layout, Storage>(call))
      return launch::for_each_site(SiteRange(call.count / Layout::lanes), call.slots,
                                   PackBlocks<Face>{Face(call)});
  launch::for_each_site(range, call.slots, PackFace<Face>{Face(call)});
}
template <class Layout, class Storage>
void launch_site_halo_unpack(const SiteHaloCall& call, const SiteRange& range) {
  using Face = SiteHaloCopy<Layout, Storage>;
  if constexpr (Layout::lanes > 1)
    if (moves_blocks<Layout, Storage>(call))
      return launch::for_each_site(SiteRange(call.count / Layout::lanes), call.slots,
                                   UnpackBlocks<Face>{Face(call)});
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
