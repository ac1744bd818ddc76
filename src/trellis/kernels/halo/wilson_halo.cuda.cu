// instantiate: STORAGE=double,float,Half,Fp16
#include "trellis/base/error.hpp"
#include "trellis/device/cuda/for_each_site.cuh"
#include "trellis/kernels/halo/wilson_halo.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
struct Pack {
  WilsonFace<Layout, Storage, LinkReals> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.pack(index, slot); }
};
template <class Layout, class Storage>
struct Unpack {
  WilsonFace<Layout, Storage, 18> kernel;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { kernel.unpack(index, slot); }
};
}  // namespace

template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFaceCall& call, const SiteRange& face) {
  if (call.link_reals == 18)
    return cuda::for_each_site(face, call.face.slots,
                               Pack<Layout, Storage, 18>{WilsonFace<Layout, Storage, 18>(call)});
  if (call.link_reals == 12)
    return cuda::for_each_site(face, call.face.slots,
                               Pack<Layout, Storage, 12>{WilsonFace<Layout, Storage, 12>(call)});
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12"));
}

template <class Layout, class Storage>
void launch_wilson_unpack(const WilsonFaceCall& call, const SiteRange& face) {
  cuda::for_each_site(face, call.face.slots, Unpack<Layout, Storage>{WilsonFace<Layout, Storage, 18>(call)});
}

template void launch_wilson_pack<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                          const SiteRange&);
template void launch_wilson_unpack<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
