// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/wilson_halo.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void pack(const WilsonFaceCall& call, const SiteRange& face) {
  using Face = WilsonFace<Layout, Storage, LinkReals>;
  launch::for_each_site(face, call.face.slots, PackFace<Face>{Face(call)});
}
}  // namespace

template <class Layout, class Storage>
void launch_wilson_pack(const WilsonFaceCall& call, const SiteRange& face) {
  if (call.link_reals == 18) return pack<Layout, Storage, 18>(call, face);
  if (call.link_reals == 12) return pack<Layout, Storage, 12>(call, face);
  throw BadArgument(message("links of ", call.link_reals, " reals are not among 18, 12"));
}

template <class Layout, class Storage>
void launch_wilson_unpack(const WilsonFaceCall& call, const SiteRange& face) {
  using Face = WilsonFace<Layout, Storage, 18>;
  launch::for_each_site(face, call.face.slots, UnpackFace<Face>{Face(call)});
}

template void launch_wilson_pack<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                          const SiteRange&);
template void launch_wilson_unpack<InstantiatedLayout, InstantiatedStorage>(const WilsonFaceCall&,
                                                                            const SiteRange&);

}  // namespace trellis
